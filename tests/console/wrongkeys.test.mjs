// Guessing keys. The last of all, as it keeps everybody of this address from signing in for a while.
import assert from 'node:assert/strict';
import {test} from './support/tests.mjs';

async function fillIn(page, key) {
  await page.getByLabel('Key of a project, or an admin key').fill(key);
  await page.getByRole('button', {name: 'Sign in'}).click();
}

test('sign in: wrong keys are slowed down', async world => {
  const page = await world.newPage({key: null});
  const statuses = await page.evaluate(async () => {
    const found = [];
    for (let n = 0; n < 8; n++)
      found.push(
        (
          await fetch('/console/login', {
            method: 'POST',
            body: '{"key": "sbx_wrong"}',
            headers: {'Content-Type': 'application/json'},
          })
        ).status,
      );
    return found;
  });
  assert.ok(statuses.includes(401) && statuses.includes(429), statuses.join(' '));
  await fillIn(page, 'sbx_' + '1'.repeat(64));
  await page.getByRole('alert').filter({hasText: 'Too many wrong keys'}).waitFor();
});
