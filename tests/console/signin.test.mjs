// Signing in and out.
import assert from 'node:assert/strict';
import {test} from './support/tests.mjs';

async function fillIn(page, key) {
  await page.getByLabel('Key of a project, or an admin key').fill(key);
  await page.getByRole('button', {name: 'Sign in'}).click();
}

test('sign in: with a key, which then is nowhere in the page, its storage or its address', async world => {
  const page = await world.newPage({key: null});
  await fillIn(page, world.key);
  await page.getByRole('heading', {name: 'Conversations'}).waitFor();
  const kept = await page.evaluate(() =>
    JSON.stringify([
      document.documentElement.outerHTML,
      {...localStorage},
      {...sessionStorage},
      location.href,
      document.cookie,
      history.state,
    ]),
  );
  assert.ok(!kept.includes(world.key), 'the key is in the page');
  const [cookie] = (await page.context().cookies()).filter(entry => entry.name === 'console_session');
  assert.deepEqual([cookie.httpOnly, cookie.sameSite, cookie.path], [true, 'Strict', '/']);
  assert.ok(cookie.expires > Date.now() / 1000 && !cookie.value.includes(world.key));
  await page.reload();
  await page.getByRole('heading', {name: 'Conversations'}).waitFor();
});

test('sign in: a wrong key is refused in words, and the field can be mended', async world => {
  const page = await world.newPage({key: null});
  await fillIn(page, 'sbx_' + '0'.repeat(64));
  await page.getByRole('alert').filter({hasText: 'This key is unknown, or was revoked.'}).waitFor();
  assert.equal(await page.getByLabel('Key of a project').getAttribute('aria-invalid'), 'true');
  await world.shot(page, 'signin-refused');
  await world.axe(page, 'sign-in, refused');
  await fillIn(page, world.key);
  await page.getByRole('heading', {name: 'Conversations'}).waitFor();
});

test('sign out: the session is over, on the server as well', async world => {
  const page = await world.newPage();
  const cookies = await page.context().cookies();
  await page.getByRole('button', {name: 'Sign out'}).click();
  await page.getByLabel('Key of a project').waitFor();
  await page.context().addCookies(cookies); // as somebody would who had copied it
  const status = await page.evaluate(async () => (await fetch('/v1/conversations')).status);
  assert.equal(status, 401);
});

test('sign in: a session that ends meanwhile leads to the sign-in, which says why', async world => {
  const {id, key} = await world.admin.post('/v1/projects/demo/keys', {label: 'short'});
  const page = await world.newPage({key, at: '/console/agents'});
  await page.getByText('reports').waitFor();
  await world.admin.delete('/v1/projects/demo/keys/' + id);
  await page.getByRole('link', {name: 'Conversations'}).click();
  await page.getByText('Your session is over. Sign in again to go on.').waitFor();
  await world.shot(page, 'signin-expired');
});

test('sign in: a change without the token of the page is refused', async world => {
  const page = await world.newPage();
  const statuses = await page.evaluate(async () => {
    const ask = headers =>
      fetch('/v1/agents/forged', {
        method: 'PUT',
        body: '{}',
        headers: {'Content-Type': 'application/json', ...headers},
      });
    return [(await ask({})).status, (await ask({'X-CSRF-Token': 'x'.repeat(64)})).status];
  });
  assert.deepEqual(statuses, [403, 403]);
  await assert.rejects(world.api.get('/v1/agents/forged'), /404/);
});
