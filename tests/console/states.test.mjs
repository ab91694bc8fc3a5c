// What is shown when there is nothing, not yet, no longer, or when something fails.
import assert from 'node:assert/strict';
import {test} from './support/tests.mjs';

test('states: nothing there yet', async world => {
  const page = await world.newPage({key: world.emptyKey});
  await page.getByRole('heading', {name: 'No conversations yet'}).waitFor();
  await world.shot(page, 'state-empty');
  await world.axe(page, 'an empty list');
  await page.getByRole('link', {name: 'Agents'}).click();
  await page.getByRole('heading', {name: 'No agents yet'}).waitFor();
});

test('states: loading', async world => {
  const page = await world.newPage({at: '/console/agents'});
  let go;
  const held = new Promise(done => {
    go = done;
  });
  await page.route('**/v1/conversations?*', async route => {
    await held;
    await route.continue();
  });
  await page.getByRole('link', {name: 'Conversations'}).click();
  await page.getByText('Loading conversations…').waitFor();
  await world.shot(page, 'state-loading');
  go();
  await page.locator('.conversations .row').first().waitFor();
});

test('states: the service fails, and is there again', async world => {
  const page = await world.newPage({at: '/console/agents'});
  await page.route('**/v1/conversations?*', route =>
    route.fulfill({
      status: 500,
      contentType: 'application/json',
      body: JSON.stringify({
        error: {type: 'internal', message: 'The service could not read its database; its log says more.'},
      }),
    }),
  );
  await page.getByRole('link', {name: 'Conversations'}).click();
  await page.getByText('could not read its database').waitFor();
  await world.shot(page, 'state-error');
  await world.axe(page, 'an error');
  await page.unroute('**/v1/conversations?*');
  await page.getByRole('button', {name: 'Try again'}).click();
  await page.locator('.conversations .row').first().waitFor();
});

test('states: the service cannot be reached', async world => {
  const page = await world.newPage({at: '/console/agents'});
  await page.getByText('reports').waitFor();
  await page.context().setOffline(true);
  await page.getByRole('link', {name: 'reports'}).click();
  await page.getByText('The service cannot be reached').waitFor();
});

test('states: a conversation that is gone says so', async world => {
  const page = await world.newPage({at: '/console/conversations/long-gone'});
  await page.getByRole('heading', {name: 'This conversation is gone'}).waitFor();
  await world.shot(page, 'state-gone');
  await world.axe(page, 'a conversation that is gone');
});

test('states: a conversation that ends while one watches says so', async world => {
  await world.api.run('ends', 'open("kept.txt", "w").write("x"); print("seen before")');
  const page = await world.newPage({at: '/console/conversations/ends'});
  await page.getByText('seen before', {exact: true}).waitFor();
  await page.getByText('Live', {exact: true}).waitFor();
  await world.api.delete('/v1/conversations/ends');
  await page.getByText('This conversation is over').waitFor();
  assert.ok(await page.getByText('seen before', {exact: true}).isVisible());
  await page.locator('.file', {hasText: 'kept.txt'}).getByRole('button', {name: /Show/}).click();
  await page.getByText('No longer kept: files go with their conversation.').waitFor();
  await world.shot(page, 'state-over');
});

test('states: no such page, agent or project', async world => {
  const page = await world.newPage({key: world.admin.key, at: '/console/nowhere'});
  await page.getByRole('heading', {name: 'There is no such page'}).waitFor();
  await page.goto(world.url + '/console/agents/nobody');
  await page.getByRole('heading', {name: 'There is no such agent'}).waitFor();
  await page.goto(world.url + '/console/projects/nothing');
  await page.getByRole('heading', {name: 'There is no such project'}).waitFor();
});

test('states: light and dark can be chosen, and the choice stays', async world => {
  const page = await world.newPage({colorScheme: 'dark'});
  const ground = () => page.evaluate(() => getComputedStyle(document.documentElement).backgroundColor);
  await page.locator('.conversations .row').first().waitFor();
  const dark = await ground();
  await page.getByRole('button', {name: /^Colours: as the system/}).click();
  const light = await ground();
  assert.notEqual(dark, light);
  await page.reload();
  await page.getByRole('button', {name: /^Colours: light/}).click();
  assert.equal(await ground(), dark);
});
