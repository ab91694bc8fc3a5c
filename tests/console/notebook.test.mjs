// One conversation, run by run.
import assert from 'node:assert/strict';
import {test} from './support/tests.mjs';

async function open(world, run, options) {
  const page = await world.newPage({at: '/console/conversations/sales-report', ...options});
  const cell = page.locator('#' + world.runs[run].run_id);
  await cell.scrollIntoViewIfNeeded();
  await cell.locator('.run-body').waitFor();
  return [page, cell];
}

const text = async locator => (await locator.innerText()).replaceAll('\u00a0', ' ');

test('notebook: code is in colours, with numbers of lines', async world => {
  const [, cell] = await open(world, 'table');
  assert.match(await cell.locator('.code').innerText(), /sales\.groupby\("city"/);
  await cell.locator('.tok-keyword', {hasText: 'import'}).waitFor();
  await cell.locator('.tok-comment', {hasText: '# What was sold'}).waitFor();
  const colours = await cell.evaluate(element =>
    ['.tok-keyword', '.tok-string', '.line'].map(s => getComputedStyle(element.querySelector(s)).color),
  );
  assert.equal(new Set(colours).size, 3);
});

test('notebook: outcome, duration and memory have words and units', async world => {
  const [page, cell] = await open(world, 'table');
  assert.match(await text(cell.locator('.run-head')), /Finished\s+Duration:\s+[\d.]+ m?s\s+Memory:\s+[\d.]+ MiB/);
  // A cell that is far away is not laid out, so that its text has to be asked for in this way.
  const says = (run, words) =>
    page.locator(`#${world.runs[run].run_id} .run-head`, {hasText: words}).waitFor({state: 'attached'});
  await says('timeout', /Stopped after 1(\.\d+)?\ss/);
  await says('memory', /over 512\sMiB of memory/);
  await says('exit', /exit code 3/);
});

test('notebook: a DataFrame is a table of the page', async world => {
  const [, cell] = await open(world, 'table');
  const table = cell.getByRole('group', {name: 'Result 1 of run 1'}).getByRole('table');
  assert.deepEqual(await table.getByRole('columnheader').allInnerTexts(), ['city', 'amount']);
  assert.equal(await table.getByRole('row').count(), 5);
  assert.equal(await cell.locator('iframe').count(), 0);
});

test('notebook: a chart is shown where it stands, and larger on demand', async world => {
  const [page, cell] = await open(world, 'chart');
  const picture = cell.getByRole('img', {name: 'Chart 1 of run 2'});
  assert.ok(await picture.evaluate(img => img.decode().then(() => img.naturalWidth > 400)));
  await cell.getByRole('button', {name: 'Enlarge: Chart 1 of run 2'}).click();
  await page.getByRole('dialog').getByRole('img').waitFor();
  await world.axe(page, 'a chart, enlarged');
  await page.keyboard.press('Escape');
  await page.getByRole('dialog').waitFor({state: 'detached'});
  assert.equal(
    await page.evaluate(() => document.activeElement.getAttribute('aria-label')),
    'Enlarge: Chart 1 of run 2',
  );
});

test('notebook: an error marks the line that it came from', async world => {
  const [page, cell] = await open(world, 'error');
  const marked = cell.locator('.line.marked');
  assert.match(
    await marked.innerText(),
    /return sum\(values\) \/ len\(values\)[\s\S]*ZeroDivisionError: division by zero/,
  );
  assert.match(await text(cell.locator('.run-head')), /Ended with ZeroDivisionError/);
  assert.match(await cell.locator('.output.bad').innerText(), /Traceback/);
  await cell.scrollIntoViewIfNeeded();
  await world.shot(page, 'notebook-error');
});

test('notebook: colours of a terminal are shown', async world => {
  const [, cell] = await open(world, 'ansi');
  const output = cell.getByRole('group', {name: /^Output of run/});
  assert.match(
    await output.innerText(),
    /passed 12 tests, failed 1, skipped 2\ntrue colour palette underlined inverse\nprogress 99 %/,
  );
  const [green, red] = await output.evaluate(pre =>
    ['.a-fg2', '.a-fg1'].map(s => getComputedStyle(pre.querySelector(s)).color),
  );
  assert.notEqual(green, red);
});

test('notebook: a CSV has its first rows and a download', async world => {
  const [page, cell] = await open(world, 'files');
  page.seen.mayDownload = true;
  const file = cell.locator('.file', {hasText: 'long.csv'});
  await file.getByRole('table').waitFor();
  assert.deepEqual(await file.getByRole('columnheader').allInnerTexts(), ['day', 'visits', 'note']);
  assert.match(await text(file), /The first 8 rows[\s\S]*Show more rows/);
  assert.match(await file.getByRole('row').nth(2).innerText(), /1\s+37\s+a, "quoted" note/);
  await file.getByRole('button', {name: 'Show more rows'}).click();
  assert.equal(await file.getByRole('row').count(), 61);
  const [download] = await Promise.all([
    page.waitForEvent('download'),
    file.getByRole('link', {name: 'Download long.csv'}).click(),
  ]);
  assert.equal(download.suggestedFilename(), 'long.csv');
  const chunks = [];
  for await (const chunk of await download.createReadStream()) chunks.push(chunk);
  assert.equal(Buffer.concat(chunks).toString().split('\n').length, 2002);
});

test('notebook: other files have type and size, and what was not kept says why', async world => {
  const [page, cell] = await open(world, 'files');
  const about = name => text(cell.locator('.file', {hasText: name}).locator('.file-about').first());
  assert.match(await about('data.bin'), /Binary file, 5 KiB/);
  assert.match(await about('report.json'), /JSON, \d+ B/);
  assert.match(await text(cell.locator('.skipped')), /big\.bin \(5 MiB\) was not kept: over 4 MiB/);
  const notes = cell.locator('.file', {hasText: 'notes.txt'});
  await notes.getByRole('button', {name: /Show/}).click();
  await notes.getByText('second line').waitFor();
  const picture = cell.getByRole('img', {name: 'Picture picture.png'});
  await picture.scrollIntoViewIfNeeded();
  assert.ok(await picture.evaluate(img => img.decode().then(() => img.naturalWidth === 160)));
  await world.shot(page, 'notebook-files');
});

test('notebook: drawings and pages of the code are shown in sealed frames only', async world => {
  const [page, cell] = await open(world, 'files');
  for (const name of ['drawing.svg', 'page.html']) {
    const file = cell.locator('.file', {hasText: name});
    await file.getByRole('button', {name: /Show/}).click();
    await file.locator('iframe').waitFor();
    assert.equal(await file.locator('iframe').getAttribute('sandbox'), '');
  }
  const html = page.frameLocator(`#${world.runs.files.run_id} .file:has-text("page.html") iframe`);
  await html.getByRole('heading', {name: 'A page'}).waitFor();
  const svg = page.frameLocator(`#${world.runs.files.run_id} .file:has-text("drawing.svg") iframe`);
  await svg.locator('img').waitFor();
  assert.equal((await svg.locator('img').boundingBox()).width, 120, 'the drawing is drawn');
  for (const frame of page.frames().slice(1))
    assert.equal(await frame.evaluate(() => origin).catch(() => 'null'), 'null');
  await world.shot(page, 'notebook-sealed');
});

test('notebook: long output is cut short, and can be had whole', async world => {
  const [, cell] = await open(world, 'long');
  assert.ok(!(await cell.innerText()).includes('line 2999'));
  await cell.getByRole('button', {name: /Show all/}).click();
  assert.match(await cell.innerText(), /line 2999/);
});

test('notebook: new runs appear while one watches', async world => {
  await world.api.run('watched', 'print("the first")');
  const page = await world.newPage({at: '/console/conversations/watched'});
  await page.getByText('Live', {exact: true}).waitFor();
  await world.api.run('watched', 'print("the " + "second")');
  await page.getByText('the second', {exact: true}).waitFor();
  assert.equal(await page.locator('.run').count(), 2);
  assert.match(await page.getByRole('status').filter({hasText: 'A new run appeared'}).innerText(), /new run/);
});

test('notebook: the files of the conversation, the latest of each name', async world => {
  const [page] = await open(world, 'table');
  await page.locator('.all-files summary').click();
  await page.locator('.all-files .file', {hasText: 'total.csv'}).waitFor();
  assert.equal(await page.locator('.all-files .file', {hasText: 'total.csv'}).count(), 1);
});

test('notebook: a conversation can be deleted, after a question', async world => {
  await world.api.run('to-delete', '1');
  const page = await world.newPage({at: '/console/conversations/to-delete'});
  await page.getByRole('button', {name: 'Delete'}).click();
  const dialog = page.getByRole('dialog', {name: 'Delete this conversation?'});
  await dialog.waitFor();
  await world.axe(page, 'a question');
  await world.shot(page, 'question');
  await dialog.getByRole('button', {name: 'Delete'}).click();
  await page.getByRole('heading', {name: 'Conversations'}).waitFor();
  await assert.rejects(world.api.get('/v1/conversations/to-delete'), /404/);
});
