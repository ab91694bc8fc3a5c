// The documentation that the service shows, in the same browser: every page, its links, on a desktop and a phone.
import assert from 'node:assert/strict';
import {test} from './support/tests.mjs';

const PHONE = {viewport: {width: 360, height: 740}, isMobile: true, hasTouch: true};

/** Every page of the documentation, found by following links from the first. */
async function crawl(page, start) {
  const found = new Map(),
    open = [start];
  while (open.length) {
    const address = open.pop();
    if (found.has(address)) continue;
    const response = await page.goto(address);
    assert.equal(response.status(), 200, address);
    const links = await page.evaluate(() =>
      [...document.querySelectorAll('a[href]')].map(link => link.href).filter(href => href.startsWith(location.origin)),
    );
    found.set(
      address,
      await page.evaluate(() => [...document.querySelectorAll('[id]')].map(element => element.id)),
    );
    for (const link of links) if (new URL(link).pathname.startsWith('/docs')) open.push(link.split('#')[0]);
    for (const link of links) found.links = (found.links ?? []).concat([[address, link]]);
  }
  return found;
}

test('docs: every page is reached from the first, and every link of a page leads to a heading that is there', async world => {
  const page = await world.newPage({key: null});
  const found = await crawl(page, `${world.url}/docs/`);
  assert.ok(found.size > 12, [...found.keys()].join(' '));
  for (const [from, link] of found.links) {
    const [address, anchor] = link.split('#');
    if (!new URL(address).pathname.startsWith('/docs')) continue;
    assert.ok(found.has(address), `${from} → ${link}`);
    if (anchor) assert.ok(found.get(address).includes(anchor), `${from} → ${link}: no such heading`);
  }
});

test('docs: on a phone no page is wider than the window, and what is wider scrolls by itself', async world => {
  const page = await world.newPage({key: null, ...PHONE});
  const found = await crawl(page, `${world.url}/docs/`);
  for (const address of found.keys()) {
    await page.goto(address);
    const wide = await page.evaluate(() => {
      const scrolls = element => element && (/auto|scroll/.test(getComputedStyle(element).overflowX) || scrolls(element.parentElement));
      const beyond = [...document.querySelectorAll('main *, body > *')].filter(
        element => element.getBoundingClientRect().right > innerWidth + 1 && !scrolls(element),
      );
      return [document.documentElement.scrollWidth > innerWidth, ...beyond.map(element => element.outerHTML.slice(0, 80))];
    });
    assert.deepEqual(wide, [false], address);
  }
});

for (const view of ['', 'run-code', 'api', 'configuration', 'security', 'troubleshooting'])
  for (const [name, options] of Object.entries({desktop: {}, phone: PHONE}))
    test(`docs: ${view || 'overview'}, ${name}: axe-core finds nothing in light and dark, nothing is wider than the window`, async world => {
      const page = await world.newPage({key: null, ...options});
      await page.goto(`${world.url}/docs/${view}`);
      for (const colorScheme of ['light', 'dark']) {
        await page.emulateMedia({colorScheme});
        await world.shot(page, `docs-${view || 'overview'}-${name}${colorScheme === 'dark' ? '-dark' : ''}`);
        await world.axe(page, `docs/${view}, ${name}, ${colorScheme}`);
      }
      const [scroll, width] = await page.evaluate(() => [document.documentElement.scrollWidth, innerWidth]);
      assert.ok(scroll <= width, `docs/${view} is ${scroll} px wide in a window of ${width} px`);
    });

test('docs: a page allows no script, and asks for nothing but its style and pictures', async world => {
  const response = await fetch(`${world.url}/docs/overview`);
  assert.equal(response.status, 404, 'the overview is the first page');
  const first = await fetch(`${world.url}/docs/`);
  const policy = first.headers.get('content-security-policy');
  assert.ok(policy.includes("default-src 'none'") && !policy.includes('script-src'), policy);
  assert.equal(first.headers.get('x-content-type-options'), 'nosniff');
  assert.equal((await fetch(`${world.url}/docs`, {redirect: 'manual'})).headers.get('location'), '/docs/');
  assert.equal((await fetch(`${world.url}/docs/`, {headers: {'If-None-Match': first.headers.get('etag')}})).status, 304);
});
