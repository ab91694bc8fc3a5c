// The playground.
import assert from 'node:assert/strict';
import {test} from './support/tests.mjs';

async function open(world, options) {
  const page = await world.newPage({at: '/console/playground', ...options});
  await page.locator('.cm-content').waitFor();
  return page;
}

async function write(page, code) {
  await page.locator('.cm-content').click();
  await page.keyboard.press('Control+A');
  await page.keyboard.press('Delete'); // or the browser would carry the colours over into what is written next
  await page.keyboard.insertText(code);
}

const run = page => page.getByRole('button', {name: 'Run', exact: true}).click();
const result = page => page.getByRole('region', {name: 'What came of it'});
const finished = page => result(page).getByText('Finished').waitFor();

test('playground: the editor has Python in colours, and the example runs', async world => {
  const page = await open(world);
  await page.locator('.cm-content .tok-keyword').first().waitFor();
  const gutter = await page.locator('.cm-gutters').boundingBox(),
    content = await page.locator('.cm-content').boundingBox();
  assert.ok(
    Math.abs(gutter.y - content.y) < 30 && content.x >= gutter.x + gutter.width - 1,
    'numbers stand beside the lines',
  );
  await run(page);
  await finished(page);
  await result(page).getByRole('img').first().waitFor();
  await result(page).locator('.file', {hasText: 'visits.csv'}).waitFor();
  await page.waitForTimeout(300);
  await world.shot(page, 'playground-run');
  await world.axe(page, 'playground, after a run');
});

test('playground: output is shown as it is printed', async world => {
  const page = await open(world);
  await write(page, 'import time\nfor n in range(40):\n    print("step", n, flush=True)\n    time.sleep(0.1)\n');
  await run(page);
  await result(page).getByText('step 3').waitFor();
  assert.ok(await page.getByRole('button', {name: 'Stop'}).isVisible());
  assert.ok(!(await result(page).innerText()).includes('step 39'));
  await finished(page);
});

test('playground: Stop ends the run, on the server too', async world => {
  const page = await open(world);
  await write(page, 'import time\nprint("begun", flush=True)\ntime.sleep(19)\n');
  await run(page);
  await result(page).getByText('begun').waitFor();
  await page.getByRole('button', {name: 'Stop'}).click();
  await result(page).getByText('You stopped it after').waitFor();
  assert.match(await result(page).innerText(), /begun/);
  for (let tries = 0; ; tries++) {
    if ((await world.admin.get('/v1/status')).runs.running === 0) break;
    assert.ok(tries < 50, 'it still runs');
    await page.waitForTimeout(100);
  }
});

test('playground: the line of an error is marked in the editor, until it is changed', async world => {
  const page = await open(world);
  await write(page, 'a = 1\nb = 0\na / b\n');
  await page.keyboard.press('Control+Enter');
  await result(page).getByText('Ended with ZeroDivisionError').waitFor();
  assert.equal(await page.locator('.cm-error-line').innerText(), 'a / b');
  await world.shot(page, 'playground-error');
  await page.locator('.cm-content').click();
  await page.keyboard.insertText('#');
  assert.equal(await page.locator('.cm-error-line').count(), 0);
});

test('playground: an error of syntax is marked as well', async world => {
  const page = await open(world);
  await write(page, 'x = 1\ny = = 2\n');
  await run(page);
  await result(page).getByText('Ended with SyntaxError').waitFor();
  assert.equal(await page.locator('.cm-error-line').innerText(), 'y = = 2');
});

test('playground: input files are sent along', async world => {
  const page = await open(world);
  await page.locator('input[type=file]').setInputFiles([
    {name: 'in.csv', mimeType: 'text/csv', buffer: Buffer.from('a,b\n1,2\n')},
    {name: 'bytes.bin', mimeType: 'application/octet-stream', buffer: Buffer.from([0, 255, 7])},
  ]);
  await page.getByRole('button', {name: 'Remove bytes.bin'}).waitFor();
  await write(page, 'print(open("in.csv").read(), list(open("bytes.bin", "rb").read()))');
  await run(page);
  await result(page).getByText('[0, 255, 7]').waitFor();
  await page.getByRole('button', {name: 'Remove in.csv'}).click();
  assert.equal(await page.locator('.inputs .chip').count(), 1);
});

test('playground: a stateful agent keeps variables, and another choice does not', async world => {
  const page = await open(world);
  const share = page.getByLabel('Keep variables between runs');
  assert.ok(await share.isDisabled());
  await page.getByRole('combobox', {name: 'Agent'}).selectOption('notebook');
  await page.getByText('Runs share one interpreter').waitFor();
  assert.ok(await share.isChecked());
  await write(page, 'x = 41');
  await run(page);
  await finished(page);
  await write(page, 'print(x + 1)');
  await run(page);
  await result(page).getByText('42', {exact: true}).waitFor();
  await page.getByText('2 runs kept in').waitFor();
  await share.uncheck();
  await run(page);
  await result(page).getByText('Ended with NameError').waitFor();
  const link = page.getByRole('link', {name: /^playground-/});
  assert.equal(await link.count(), 0, 'a fresh run of such an agent is not kept');
});

test('playground: what was run is a conversation', async world => {
  const page = await open(world);
  await write(page, 'print("kept")');
  await run(page);
  await finished(page);
  await page.getByRole('link', {name: /^playground-/}).click();
  await page.getByRole('heading', {name: /^playground-/}).waitFor();
  await page.locator('.run .output').getByText('kept').waitFor();
});

test('playground: on a phone', async world => {
  const page = await open(world, {viewport: {width: 390, height: 844}, isMobile: true, hasTouch: true});
  await write(page, 'print("on a phone")');
  await run(page);
  await result(page).getByText('on a phone').waitFor();
  await world.shot(page, 'playground-run-phone');
});
