// How it looks, and whether everybody can use it: every view in light and dark, on a desktop and a phone.
import assert from 'node:assert/strict';
import {test} from './support/tests.mjs';

const VIEWS = {
  conversations: {at: '/console/', ready: '.conversations .row'},
  notebook: {at: '/console/conversations/sales-report', ready: '.run img'},
  playground: {at: '/console/playground', ready: '.cm-editor'},
  status: {at: '/console/status', ready: '.charts', admin: true},
  agents: {at: '/console/agents', ready: '.rows'},
  agent: {at: '/console/agents/reports', ready: '.block'},
  projects: {at: '/console/projects', ready: '.rows', admin: true},
  project: {at: '/console/projects/demo', ready: '.keys', admin: true},
  signin: {at: '/console/', ready: '#key', signedOut: true},
};

const WINDOWS = {
  desktop: {},
  phone: {viewport: {width: 390, height: 844}, deviceScaleFactor: 2, isMobile: true, hasTouch: true},
};

for (const [view, {at, ready, admin, signedOut}] of Object.entries(VIEWS))
  for (const [window_, options] of Object.entries(WINDOWS))
    test(`looks: ${view}, ${window_}: axe-core finds nothing in light and dark, and nothing is wider than the window`, async world => {
      const page = await world.newPage({key: signedOut ? null : admin ? world.admin.key : world.key, at, ...options});
      await page.locator(ready).first().waitFor();
      await page.waitForTimeout(300); // charts and colours
      for (const colorScheme of ['light', 'dark']) {
        await page.emulateMedia({colorScheme});
        await world.shot(page, `${view}-${window_}${colorScheme === 'dark' ? '-dark' : ''}`);
        await world.axe(page, `${view}, ${window_}, ${colorScheme}`);
      }
      const [scroll, width] = await page.evaluate(() => [document.documentElement.scrollWidth, innerWidth]);
      assert.ok(scroll <= width, `the page is ${scroll} px wide in a window of ${width} px`);
    });

test('looks: the first load is under 150 KB, and no file of the page allows inline scripts or styles', async world => {
  const page = await world.newPage({key: null, at: '/console/'});
  await page.locator('#key').waitFor();
  const loaded = await page.evaluate(() =>
    [...performance.getEntriesByType('resource'), ...performance.getEntriesByType('navigation')].map(entry => [
      entry.name,
      entry.encodedBodySize,
    ]),
  );
  const sum = loaded.reduce((total, [, size]) => total + size, 0);
  assert.ok(sum > 20_000 && sum < 150_000, JSON.stringify(loaded));
  const {headers, html} = await page.evaluate(async () => {
    const response = await fetch('/console/');
    return {headers: Object.fromEntries(response.headers), html: await response.text()};
  });
  const policy = headers['content-security-policy'];
  for (const part of [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    "frame-ancestors 'none'",
    "base-uri 'none'",
  ])
    assert.ok(policy.includes(part), policy);
  assert.ok(!/unsafe|\*|https?:/.test(policy), policy);
  assert.equal(headers['x-content-type-options'], 'nosniff');
  assert.ok(!/<style|<script(?![^>]*src=)|style=|\son\w+=/i.test(html), html);
});

test('looks: nothing moves for those who ask for that', async world => {
  const page = await world.newPage({reducedMotion: 'reduce'});
  await page.locator('.conversations .row').first().waitFor();
  const moving = await page.evaluate(() => document.getAnimations().length);
  assert.equal(moving, 0);
});
