// The list of conversations.
import assert from 'node:assert/strict';
import {test} from './support/tests.mjs';

const rows = page => page.getByRole('list', {name: 'Conversations'}).getByRole('listitem');

test('conversations: agent, time, runs and files of each, latest first', async world => {
  const page = await world.newPage();
  const row = rows(page).filter({hasText: 'sales-report'});
  await row.waitFor();
  const text = (await row.innerText()).replaceAll('\u00a0', ' ');
  for (const part of ['reports', '10 runs', /\d+ files/, /[KM]iB/, /ago|now/]) assert.match(text, new RegExp(part));
  const time = row.locator('time');
  assert.match(await time.getAttribute('title'), /20\d\d/);
  assert.ok(!Number.isNaN(Date.parse(await time.getAttribute('datetime'))));
});

test('conversations: search by name and by agent, in the address too', async world => {
  const page = await world.newPage();
  await rows(page).first().waitFor();
  await page.getByLabel('Search by name or agent').fill('INVOICE');
  await page.waitForURL(/q=INVOICE/);
  await rows(page).filter({hasText: 'weather'}).waitFor({state: 'detached'});
  assert.deepEqual(await rows(page).locator('.row-title').allInnerTexts(), ['invoice:4711']);
  await page.reload();
  await rows(page).first().waitFor();
  assert.equal(await page.getByLabel('Search by name or agent').inputValue(), 'INVOICE');
  await page.getByLabel('Search by name or agent').fill('no such thing');
  await page.getByRole('heading', {name: 'Nothing matches'}).waitFor();
  await world.shot(page, 'conversations-nothing-matches');
  await page.getByRole('button', {name: 'Show all conversations'}).click();
  await rows(page).filter({hasText: 'weather'}).waitFor();
});

test('conversations: those of one agent', async world => {
  const page = await world.newPage();
  await page.getByRole('combobox', {name: 'Agent'}).selectOption('plain');
  await rows(page).filter({hasText: 'weather'}).waitFor({state: 'detached'});
  assert.ok((await rows(page).locator('.row-agent').allInnerTexts()).every(text => text.includes('plain')));
});

test('conversations: a new one appears by itself, and a deleted one goes', async world => {
  const page = await world.newPage();
  await page.getByText('Live', {exact: true}).waitFor();
  await world.api.run('appears-now', 'print(1)');
  await rows(page).filter({hasText: 'appears-now'}).waitFor();
  assert.match(await rows(page).first().innerText(), /appears-now/);
  await world.api.delete('/v1/conversations/appears-now');
  await rows(page).filter({hasText: 'appears-now'}).waitFor({state: 'detached'});
});

test('conversations: by keyboard alone', async world => {
  const page = await world.newPage();
  await rows(page).first().waitFor();
  await page.keyboard.press('Tab');
  assert.equal(await page.evaluate(() => document.activeElement.textContent), 'Skip to the content');
  await page.keyboard.press('Enter');
  await page.getByLabel('Search by name or agent').focus();
  await page.keyboard.press('Tab');
  await page.keyboard.press('Tab');
  await page.keyboard.press('Enter');
  await page.waitForURL(/conversations\/./);
  await page.waitForFunction(() => document.activeElement.id === 'main'); // once the page of that address is drawn
});

test('conversations: more than a page of them', async world => {
  const page = await world.newPage();
  await rows(page).first().waitFor();
  await page.route('**/v1/conversations?*', async route => {
    // pages of three, so that few conversations do
    const url = new URL(route.request().url());
    url.searchParams.set('limit', '3');
    await route.continue({url: url.href});
  });
  await page.reload();
  await page.getByRole('button', {name: 'Show more'}).click();
  await rows(page).nth(5).waitFor();
  const names = await rows(page).locator('.row-title').allInnerTexts();
  assert.equal(new Set(names).size, names.length);
});
