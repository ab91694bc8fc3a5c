// Status, agents, projects and keys.
import assert from 'node:assert/strict';
import {Api} from './support/api.mjs';
import {test} from './support/tests.mjs';

const text = async locator => (await locator.innerText()).replaceAll('\u00a0', ' ');

test('status: pool, runs, sessions, and the last hour in charts', async world => {
  const page = await world.newPage({key: world.admin.key, at: '/console/status'});
  const cards = page.locator('.cards');
  await cards.waitFor();
  assert.match(await text(cards), /Warm pool\s+\d of 3 sandboxes wait/);
  assert.match(await text(cards), /Runs now\s+\d+ of \d+ places taken/);
  assert.match(await text(cards), /Sessions\s+\d+ of 20 alive/);
  const runs = page.getByRole('img', {name: /^Runs per minute: \d+ in the last hour/});
  await runs.waitFor();
  assert.ok(
    (await runs.locator('.fill-good').count()) > 0 && (await runs.locator('.fill-bad').count()) > 0,
    'bars of outcomes',
  );
  const latency = page.getByRole('img', {name: /^Duration of runs, latest minute with runs: 50 % within [\d.]+.m?s/});
  await latency.waitFor();
  await page.getByRole('img', {name: /^Time to the first instruction/}).waitFor();
  assert.match(await text(page.locator('.chart', {hasText: 'Outcomes'})), /Finished\s+\d+[\s\S]*Error\s+\d+/);
});

test('status: a session is listed against its caps, and can be ended', async world => {
  await world.api.run('session-to-end', 'x = 1', {agent: 'notebook'});
  const page = await world.newPage({key: world.admin.key, at: '/console/status'});
  const row = page.locator('.sessions .row', {hasText: 'session-to-end'});
  await row.waitFor();
  assert.match(await text(row), /notebook[\s\S]*demo[\s\S]*idle[\s\S]*1 run/);
  await world.shot(page, 'status-session');
  await row.getByRole('button', {name: /End/}).click();
  await page.getByRole('dialog').getByRole('button', {name: 'End the session'}).click();
  await row.waitFor({state: 'detached'});
  assert.ok(
    !(await world.api.get('/v1/sessions')).sessions.some(session => session.conversation_id === 'session-to-end'),
  );
});

test('status: a project sees its sessions, and why it does not see the rest', async world => {
  await world.api.run('own-session', 'x = 1', {agent: 'notebook'});
  const page = await world.newPage({at: '/console/status'});
  await page.locator('.sessions .row', {hasText: 'own-session'}).waitFor();
  await page.getByRole('heading', {name: 'The rest is for administrators'}).waitFor();
  assert.match(await text(page.locator('.block')), /of 2 of this project/);
  await page.locator('.sessions .row', {hasText: 'own-session'}).getByRole('button', {name: /End/}).click();
  await page.getByRole('dialog').getByRole('button', {name: 'End the session'}).click();
  await page.locator('.sessions .row', {hasText: 'own-session'}).waitFor({state: 'detached'});
});

test('agents: one is made, set and deleted', async world => {
  const page = await world.newPage({at: '/console/agents'});
  await page.getByLabel('Name of a new agent').fill('made here');
  await page.getByRole('button', {name: 'Create'}).click();
  await page.getByRole('alert').filter({hasText: 'The name of an agent must be'}).waitFor();
  await page.getByLabel('Name of a new agent').fill('made-here');
  await page.getByRole('button', {name: 'Create'}).click();
  await page.getByRole('heading', {name: 'made-here'}).waitFor();
  const session = page.getByLabel(/Keep variables between runs/);
  assert.ok(!(await session.isChecked()));
  await session.check();
  await page.getByLabel(/Time limit of a run/).fill('90');
  await page.getByRole('button', {name: 'Save'}).click();
  await page.getByText('the platform allows at most 60 s a run').waitFor();
  await page.getByText(/In force: 60\s?s/).waitFor();
  assert.deepEqual((await world.api.get('/v1/agents/made-here/env')).effective, {stateful: true, timeout_s: 60});
  await page.getByLabel(/Time limit of a run/).fill('soon');
  await page.getByRole('button', {name: 'Save'}).click();
  await page.getByRole('alert').waitFor();
  await world.shot(page, 'agent-settings');
  await page.getByLabel('Name', {exact: true}).fill('GREETING');
  await page.getByLabel('Value', {exact: true}).fill('hello <b>');
  await page.getByRole('button', {name: 'Set', exact: true}).click();
  await page.locator('.settings .row', {hasText: 'hello <b>'}).getByRole('button', {name: 'Delete GREETING'}).click();
  await page.getByRole('dialog').getByRole('button', {name: 'Delete'}).click();
  await page.locator('.settings').waitFor({state: 'detached'});
  await page.getByRole('button', {name: 'Delete', exact: true}).click();
  await page.getByRole('dialog').getByRole('button', {name: 'Delete'}).click();
  await page.getByRole('heading', {name: 'Agents'}).waitFor();
  await assert.rejects(world.api.get('/v1/agents/made-here'), /404/);
});

test('agents: what was just clicked stays while it is saved, whatever arrives meanwhile', async world => {
  await world.api.put('/v1/agents/clicked', {});
  const page = await world.newPage({});
  const held = {};
  await page.route('**/v1/environment', async route => {
    const response = await route.fetch();
    const answer = await response.json();
    answer.limits.timeout_s = 21; // to be seen on the page once it has arrived
    held.environment = () => route.fulfill({response, json: answer});
  });
  await page.route('**/env/CODE_INTERPRETER_SESSION', route => {
    held.setting = () => route.continue();
  });
  await page.goto(`${world.url}/console/agents/clicked`);
  const session = page.getByLabel(/Keep variables between runs/);
  await session.click();
  while (!held.environment || !held.setting) await page.waitForTimeout(10);
  await held.environment();
  await page.getByPlaceholder('21').waitFor();
  assert.ok(await session.isChecked(), 'the box fell back before the answer came');
  await held.setting();
  await page.getByText('Sessions are on').waitFor({state: 'attached'});
  assert.ok(await session.isChecked());
  assert.equal((await world.api.get('/v1/agents/clicked/env')).effective.stateful, true);
});

test('projects: a key is shown once, works, and can be revoked', async world => {
  const page = await world.newPage({key: world.admin.key, at: '/console/projects'});
  await page.getByLabel('Name of a new project').fill('from-the-page');
  await page.getByRole('button', {name: 'Create'}).click();
  await page.getByRole('heading', {name: 'from-the-page'}).waitFor();
  await page.getByLabel('What the new key is for').fill('the shop');
  await page.getByRole('button', {name: 'Make a key'}).click();
  const dialog = page.getByRole('dialog', {name: 'The new key'});
  const key = await dialog.locator('code').innerText();
  await world.axe(page, 'a new key');
  assert.equal((await new Api(world.url, key).get('/v1/conversations')).conversations.length, 0);
  await dialog.getByRole('button', {name: 'I have it'}).click();
  await page.reload();
  const row = page.locator('.keys .row', {hasText: 'the shop'});
  await row.waitFor();
  assert.ok(!(await page.content()).includes(key), 'it is shown once');
  await row.getByRole('button', {name: 'Revoke the shop'}).click();
  await page.getByRole('dialog').getByRole('button', {name: 'Revoke'}).click();
  await row.waitFor({state: 'detached'});
  await assert.rejects(new Api(world.url, key).get('/v1/conversations'), /401/);
});

test('projects: an administrator looks at another project, with its charts and downloads', async world => {
  const page = await world.newPage({key: world.admin.key});
  page.seen.mayDownload = true;
  await page.getByLabel('Project').selectOption('demo');
  await page.waitForURL(/project=demo/);
  await page.getByRole('link', {name: /sales-report/}).click();
  await page.getByText('Live', {exact: true}).waitFor();
  const cell = page.locator('#' + world.runs.files.run_id);
  await cell.scrollIntoViewIfNeeded();
  const picture = cell.getByRole('img', {name: 'Picture picture.png'});
  await picture.scrollIntoViewIfNeeded();
  assert.ok(await picture.evaluate(img => img.decode().then(() => img.naturalWidth === 160)));
  const [download] = await Promise.all([
    page.waitForEvent('download'),
    cell.getByRole('link', {name: 'Download notes.txt'}).click(),
  ]);
  assert.equal(download.suggestedFilename(), 'notes.txt');
});

test('projects: other keys see no such view', async world => {
  const page = await world.newPage({at: '/console/projects'});
  await page.getByRole('heading', {name: 'There is no such page'}).waitFor();
  assert.equal(await page.getByRole('link', {name: 'Projects'}).count(), 0);
});
