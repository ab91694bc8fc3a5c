// What the tests share: the service with some runs in it, one browser, and detectors of what must not happen.
import {mkdtempSync} from 'node:fs';
import {createServer} from 'node:http';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {createRequire} from 'node:module';
import {chromium} from 'playwright-core';
import {Api} from './api.mjs';
import {seed} from './seed.mjs';

const require = createRequire(import.meta.url);
const AXE = require.resolve('axe-core/axe.min.js');
const URL_ = process.env.CONSOLE_URL;
const SHOTS = process.env.CONSOLE_SCREENSHOTS;

/** Another origin that notes who comes: what an attack would talk to. */
function startOutside() {
  const visits = [];
  const server = createServer((request, response) => {
    visits.push(request.url);
    const page = outside.pages.get(request.url.split('?')[0]);
    response.writeHead(page ? 200 : 204, {'Content-Type': 'text/html', 'Access-Control-Allow-Origin': '*'});
    response.end(page);
  });
  server.on('connection', socket => {
    outside.connections++;
    socket.unref();
  });
  const outside = {visits, connections: 0, pages: new Map(), url: null, close: () => server.close()};
  return new Promise(done =>
    server.listen(0, '127.0.0.1', () => {
      outside.url = `http://127.0.0.1:${server.address().port}`;
      done(outside);
    }),
  );
}

/** Notes everything that a page does and must not: scripts that ran, requests to others, windows, dialogs, downloads. */
async function watch(context, outside) {
  const seen = {ran: [], requests: [], pages: [], dialogs: [], downloads: [], violations: [], errors: []};
  await context.exposeBinding('pwned', (_, what) => {
    seen.ran.push(String(what));
  });
  context.on('request', request => {
    const url = request.url();
    if (!url.startsWith(URL_ + '/') && !/^(data|blob|about):/.test(url)) seen.requests.push(url);
  });
  context.on('page', page => {
    seen.pages.push(page.url());
    page.on('dialog', dialog => {
      seen.dialogs.push(dialog.message());
      void dialog.dismiss();
    });
    page.on('download', download => seen.downloads.push(download.url()));
    page.on('pageerror', error => seen.errors.push(String(error)));
    page.on('console', message => {
      if (/Content Security Policy|Trusted Type/i.test(message.text())) seen.violations.push(message.text());
    });
  });
  const visitsBefore = outside.visits.length,
    connectionsBefore = outside.connections;
  return {
    ...seen,
    mayViolate: false,
    mayDownload: false,
    /** Everything that must not have happened, in words. */
    trouble() {
      return [
        ...seen.ran.map(what => `a script ran: ${what}`),
        ...seen.requests.map(url => `a request left: ${url}`),
        ...outside.visits.slice(visitsBefore).map(url => `the outside was visited: ${url}`),
        ...(outside.connections > connectionsBefore ? ['a connection to the outside was opened'] : []),
        ...seen.pages.slice(1).map(url => `a window was opened: ${url}`),
        ...seen.dialogs.map(text => `a dialog was shown: ${text}`),
        ...(this.mayDownload ? [] : seen.downloads.map(url => `a download began: ${url}`)),
      ];
    },
  };
}

export async function makeWorld() {
  const outside = await startOutside();
  const admin = new Api(URL_, process.env.CONSOLE_ADMIN_KEY);
  const seeded = await seed(admin, outside.url);
  const profile = mkdtempSync(join(tmpdir(), 'chromium-'));
  const browser = await chromium.launch({
    executablePath: '/usr/bin/chromium',
    headless: true,
    args: [
      '--headless',
      '--no-sandbox',
      '--disable-gpu',
      '--disable-quic',
      '--no-first-run',
      '--disable-background-networking',
      '--disable-component-update',
      '--disable-sync',
      '--disable-dev-shm-usage',
      `--disk-cache-dir=${profile}`,
      `--host-resolver-rules=MAP *.outside.test ${outside.url.slice(7)}`,
    ],
  });
  const contexts = [],
    pages = [];

  async function newPage({key = seeded.key, at = '/console/', lasting = false, ...options} = {}) {
    const context = await browser.newContext({
      viewport: {width: 1280, height: 860},
      locale: 'en-GB',
      timezoneId: 'Europe/Oslo',
      ...options,
    });
    context.setDefaultTimeout(12_000);
    if (!lasting) contexts.push(context);
    const seen = await watch(context, outside);
    if (key) await signInQuietly(context, key);
    const page = await context.newPage();
    page.seen = seen;
    if (!lasting) pages.push(page);
    await page.goto(URL_ + at);
    return page;
  }

  /** Signs in without the form, which has tests of its own. */
  async function signInQuietly(context, key) {
    const response = await context.request.post(URL_ + '/console/login', {data: {key}, headers: {Origin: URL_}});
    if (!response.ok()) throw new Error(`signing in failed: ${response.status()} ${await response.text()}`);
  }

  /** Of the whole page, or of some parts of it. */
  async function axe(page, where, parts = null) {
    const source = await import('node:fs').then(fs => fs.readFileSync(AXE, 'utf8'));
    await page.evaluate(source);
    const found = await page.evaluate(
      some =>
        globalThis.axe.run(some ? {include: some} : document, {
          iframes: false,
          runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'],
        }),
      parts,
    );
    const words = found.violations.map(
      v =>
        `${v.id}: ${v.help}\n    ${v.nodes
          .slice(0, 4)
          .map(n => n.html.slice(0, 200) + '\n      ' + n.failureSummary.replace(/\n/g, ' '))
          .join('\n    ')}`,
    );
    if (found.passes.length < 5) words.push('axe-core looked at next to nothing');
    if (words.length) throw new Error(`axe-core finds in ${where}:\n  ${words.join('\n  ')}`);
  }

  return {
    ...seeded,
    outside,
    admin,
    url: URL_,
    browser,
    newPage,
    axe,
    shot: (page, name, options) =>
      SHOTS ? page.screenshot({path: join(SHOTS, name + '.png'), ...options}) : undefined,
    /** What no page may do, whatever its test is about. */
    trouble: () =>
      pages.flatMap(({seen}) => [
        ...seen.trouble(),
        ...seen.errors.map(text => `an error was not caught: ${text}`),
        ...(seen.mayViolate ? [] : seen.violations.map(text => `the page's policy was violated: ${text}`)),
      ]),
    /** `failed`: the name of a test that went wrong; what its pages look like is kept. */
    async closePages(failed) {
      pages.length = 0;
      for (const context of contexts.splice(0)) {
        if (failed && SHOTS)
          for (const page of context.pages())
            await page
              .screenshot({path: join(SHOTS, `failed-${failed.replace(/\W+/g, '-').slice(0, 80)}.png`), timeout: 5000})
              .catch(() => {});
        await context.close();
      }
    },
    async close() {
      await browser.close();
      outside.close();
    },
  };
}
