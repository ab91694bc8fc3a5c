// Hostile content is the normal case. Every attack below is made by real code in a real sandbox and then looked at in
// every way that the page offers. Detectors (world.mjs) notice any script that runs and any request that leaves; the
// first test shows that they do, with the same attacks on a page that has no protection.
import assert from 'node:assert/strict';
import {Api} from './support/api.mjs';
import {ATTACKS, PAGES, payload} from './support/attacks.mjs';
import {test} from './support/tests.mjs';

const RUN_ATTACKS = out => ATTACKS(out).filter(attack => attack.code);

let opened = null;

/** The conversation with all attacks in it, every part of it opened and clicked on; done once. */
function open(world) {
  opened ??= (async () => {
    const runs = new Map();
    for (const {id, code} of RUN_ATTACKS(world.outsideUrl)) runs.set(id, await world.api.run('hostile', code));
    const page = await world.newPage({at: '/console/conversations/hostile', lasting: true});
    page.seen.mayViolate = true; // that is what a policy is for
    await page.evaluate(() => {
      globalThis.before = Object.getOwnPropertyNames(Object.prototype).sort().join();
    });
    for (const [, run] of runs) {
      const cell = page.locator('#' + run.run_id);
      await cell.scrollIntoViewIfNeeded();
      await cell.locator('.run-body').waitFor();
      for (const button of await cell.getByRole('button', {name: /^(Show|Show as a page|Show all)\b/}).all())
        if (await button.isVisible()) await button.click();
    }
    await page.waitForTimeout(500);
    await clickInFrames(page);
    await page.waitForTimeout(1500); // a refresh or a timer would have had its time
    return {page, runs};
  })();
  return opened;
}

/** As a person who is lured would: on everything in every frame. */
async function clickInFrames(page) {
  for (const frame of page.frames().slice(1))
    for (const element of await frame
      .locator('a, button, input, area, summary, label')
      .all()
      .catch(() => []))
      await element.click({timeout: 1500, force: true, noWaitAfter: true}).catch(() => {});
}

test('attacks: the detectors notice all of it on a page without protection', async world => {
  const page = await world.newPage();
  page.seen.mayViolate = page.seen.mayDownload = true;
  const noticed = new Set();
  for (const [id, html] of Object.entries(PAGES(world.outsideUrl))) {
    world.outside.pages.set('/control-' + id, `<!doctype html><body>${html}`);
    await page.goto(`${world.outsideUrl}/control-${id}`).catch(() => {});
    await page.waitForTimeout(250);
    await page
      .locator('a, button')
      .first()
      .click({timeout: 500, noWaitAfter: true})
      .catch(() => {});
    await page.waitForTimeout(150);
    const words = page.seen
      .trouble()
      .join('\n')
      .replaceAll('/control-' + id, '');
    if (words.includes(id)) noticed.add(id);
  }
  const missed = Object.keys(PAGES(world.outsideUrl)).filter(id => !noticed.has(id));
  assert.deepEqual(missed, [], 'these would go unnoticed');
  page.seen.trouble = () => [];
});

for (const {id, about, code, check} of ATTACKS('').filter(attack => attack.code))
  test(`attacks: ${about}`, async world => {
    const {page, runs} = await open(world);
    const mine = page.seen.trouble().filter(words => words.includes(id));
    assert.deepEqual(mine, []);
    const {check: checkNow} = ATTACKS(world.outsideUrl).find(attack => attack.id === id);
    const cell = page.locator('#' + runs.get(id).run_id);
    await cell.scrollIntoViewIfNeeded(); // what is far away is not laid out, and has no text
    await page.evaluate(() => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done))));
    if (checkNow) await checkNow(cell, page, assert);
    assert.ok(code && (check === undefined || checkNow));
  });

test('attacks: none of them did anything else either', async world => {
  const {page, runs} = await open(world);
  assert.ok(runs.size >= 25, `${runs.size} attacks`);
  assert.deepEqual(page.seen.trouble(), []);
  assert.equal(new URL(page.url()).pathname, '/console/conversations/hostile');
  for (const frame of page.frames().slice(1)) {
    assert.match(frame.url(), /^about:(srcdoc|blank)$/);
    assert.equal(await (await frame.frameElement()).getAttribute('sandbox'), '');
  }
  assert.equal(
    await page.evaluate(() => Object.getOwnPropertyNames(Object.prototype).sort().join() === globalThis.before),
    true,
  );
  assert.equal(
    await page.evaluate(
      () =>
        document.querySelectorAll(
          'main script, main object, main embed, main form, main style, main [onload], main [onerror], main [style]',
        ).length,
    ),
    0,
  );
  const some = ['o-osc8', 'o-bidi', 't-frame', 'h-link', 's-script', 'f-name', 'f-formula'].map(
    id => '#' + runs.get(id).run_id,
  );
  await world.axe(page, 'hostile content', some);
  await page.locator(some[4]).scrollIntoViewIfNeeded();
  await world.shot(page, 'attacks');
  await page.context().close();
});

test('attacks: in addresses of the page', async world => {
  const page = await world.newPage();
  const script = encodeURIComponent(`<img src=x onerror="${payload('address', world.outsideUrl)}">`);
  for (const path of [
    `conversations/${script}`,
    script,
    `agents/${script}`,
    `?q=${script}`,
    `?agent=${script}`,
    `?project=${script}`,
    `conversations/..%2f..%2fv1%2fstatus`,
    `conversations/%00`,
    `conversations/%E0%A4%A`,
    `#${script}`,
    `conversations/__proto__`,
    `conversations?q=__proto__`,
    `%2f%2f${world.outsideUrl.slice(7)}`,
  ]) {
    await page.goto(`${world.url}/console/${path}`).catch(() => {});
    await page.waitForTimeout(120);
    assert.equal(new URL(page.url()).origin, world.url);
    assert.equal(await page.locator('img[src="x"]').count(), 0);
  }
});

test('attacks: in names of conversations, tools, settings and keys', async world => {
  const script = `<img src=x onerror="${payload('names', world.outsideUrl)}">`;
  for (const name of ['javascript:alert-1', '__proto__', 'constructor', 'data:text-html'])
    await world.api.run(name, '1');
  await world.api.put('/v1/agents/__proto__', {}).catch(() => {});
  await world.api.put('/v1/agents/reports', {
    tools: [
      {
        name: 'tool',
        entrypoint: 'tools:run',
        description: script + '\u202eevil',
        parameters: {type: 'object', properties: {}},
      },
    ],
  });
  await world.api.put('/v1/agents/reports/env/HOSTILE', {value: script});
  await world.admin.post('/v1/projects/demo/keys', {label: script.slice(0, 100)});
  const page = await world.newPage();
  await page.locator('.conversations .row', {hasText: '__proto__'}).waitFor();
  for (const name of ['javascript:alert-1', '__proto__', 'constructor']) {
    await page
      .locator('.conversations .row')
      .filter({has: page.getByText(name, {exact: true})})
      .click();
    await page.getByRole('heading', {name}).waitFor();
    await page.locator('.run-body').first().waitFor();
    await page.getByRole('link', {name: 'Conversations'}).first().click();
  }
  await page.goto(world.url + '/console/agents/reports');
  await page.getByText('onerror').first().waitFor();
  await page.getByText('⟨U+202E⟩evil').waitFor();
  const admin = await world.newPage({key: world.admin.key, at: '/console/projects/demo'});
  await admin.locator('.keys .row', {hasText: '<img'}).waitFor();
  for (const other of [page, admin]) assert.equal(await other.locator('img').count(), 0);
});

test('attacks: text of events inside of output, in the playground', async world => {
  const page = await world.newPage({at: '/console/playground'});
  await page.locator('.cm-content').click();
  await page.keyboard.press('Control+A');
  await page.keyboard.press('Delete');
  await page.keyboard.insertText(
    `print("""\\n\\nevent: done\\ndata: {'outcome':'ok'}\\n\\n<script>${payload('events', world.outsideUrl)}</script>""")\nraise SystemExit(3)`,
  );
  await page.getByRole('button', {name: 'Run', exact: true}).click();
  await page.getByText('Ended with exit code 3').waitFor();
  assert.match(
    await page.locator('.result-pane pre').first().innerText(),
    /event: done\ndata: \{'outcome':'ok'\}\n\n<script>/,
  );
});

test('attacks: a kept page or drawing, opened by its address, is a download', async world => {
  const page = await world.newPage();
  page.seen.mayDownload = true;
  for (const name of ['page.html', 'drawing.svg', 'data.bin', 'report.json']) {
    const file = world.runs.files.files.find(entry => entry.name === name);
    const [download] = await Promise.all([
      page.waitForEvent('download'),
      page.goto(`${world.url}/v1/files/${file.file_id}`).catch(() => {}),
    ]);
    assert.equal(download.suggestedFilename(), name);
  }
});

test('attacks: no other page can hold the Console in a frame', async world => {
  world.outside.pages.set('/framing', `<!doctype html><iframe src="${world.url}/console/"></iframe>`);
  const page = await world.newPage();
  page.seen.mayViolate = true;
  await page.goto(world.outsideUrl + '/framing');
  await page.waitForTimeout(700);
  const text = await page
    .frames()[1]
    .evaluate(() => document.body.innerText)
    .catch(() => '');
  assert.ok(!/Conversations|Sign in/.test(text), text);
  page.seen.trouble = () => [];
});

test('attacks: no other page can act with the session, although it is on the same host', async world => {
  const page = await world.newPage();
  world.outside.pages.set('/forging', '<!doctype html><title>forging</title>');
  await page.goto(world.outsideUrl + '/forging');
  const got = await page.evaluate(async url => {
    const ask = (path, options) =>
      fetch(url + path, {credentials: 'include', ...options}).then(
        async r => `${r.status} ${await r.text()}`,
        () => 'refused',
      );
    await ask('/v1/agents/forged', {
      method: 'PUT',
      mode: 'cors',
      body: '{}',
      headers: {'Content-Type': 'application/json'},
    });
    await ask('/v1/execute', {method: 'POST', mode: 'no-cors', body: '{"code": "1", "conversation_id": "forged"}'});
    await ask('/console/logout', {method: 'POST', mode: 'no-cors', body: ''});
    return [await ask('/v1/conversations'), await ask('/console/session')];
  }, world.url);
  assert.deepEqual(got, ['refused', 'refused']);
  page.seen.trouble = () => [];
  await assert.rejects(world.api.get('/v1/agents/forged'), /404/);
  await assert.rejects(world.api.get('/v1/conversations/forged'), /404/);
  await page.goto(world.url + '/console/');
  await page.getByRole('heading', {name: 'Conversations'}).waitFor(); // still signed in
  await new Api(world.url, world.key).get('/v1/conversations');
});
