// A conversation of five hundred runs, a hundred of them with a chart.
import assert from 'node:assert/strict';
import {test} from './support/tests.mjs';

const RUNS = 500,
  EVERY = 5,
  AT_ONCE = 4;
// A real picture of some size without a drawing library, which would take most of the time of this test.
const CHART = n => `import zlib, struct, random
random.seed(${n})
class Chart:
    def _repr_png_(self):
        width, height = 320, 160
        rows = b"".join(b"\\0" + bytes(random.randrange(256) if (x + y) % 7 else 240 for x in range(width)) for y in range(height))
        part = lambda kind, data: struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
        return (b"\\x89PNG\\r\\n\\x1a\\n" + part(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0))
                + part(b"IDAT", zlib.compress(rows)) + part(b"IEND", b""))
Chart()`;

async function fill(api) {
  let next = 0;
  const work = async () => {
    while (next < RUNS) {
      const n = next++;
      await api.run('five-hundred', n % EVERY === 0 ? CHART(n) : `print("run number ${n}")`);
    }
  };
  await Promise.all(Array.from({length: AT_ONCE}, work));
}

test('large: it is made, by five hundred runs', async world => {
  await fill(world.api);
  assert.equal((await world.api.get('/v1/conversations/five-hundred')).run_count, RUNS);
});

test('large: it opens at once, and only what is near is fetched', async world => {
  const page = await world.newPage({at: '/console/agents'});
  let fetched = 0;
  page.on('request', request => {
    if (request.url().includes('/v1/runs/')) fetched++;
  });
  const began = Date.now();
  await page.goto(world.url + '/console/conversations/five-hundred');
  await page.locator('.run .run-body').first().waitFor();
  const opened = Date.now() - began;
  await page
    .locator('.run')
    .nth(RUNS - 1)
    .waitFor({state: 'attached'});
  await page.waitForTimeout(500);
  assert.ok(fetched > 0 && fetched < 40, `${fetched} runs were fetched`);
  assert.ok(opened < 5000, `it took ${opened} ms`);
  await page.getByRole('button', {name: 'Latest run'}).click();
  await page
    .locator('.run')
    .nth(RUNS - 1)
    .locator('.run-body')
    .waitFor();
  assert.ok(fetched < 100, `${fetched} runs were fetched`);
});

test('large: scrolling through it stays smooth', async world => {
  const page = await world.newPage({at: '/console/conversations/five-hundred'});
  await page
    .locator('.run')
    .nth(RUNS - 1)
    .waitFor({state: 'attached'});
  // How long the page is busy at a time while one scrolls: what a person feels. Frames are no measure here, as there is
  // no display, and the machine is shared.
  const tasks = await page.evaluate(async () => {
    const long = [];
    new PerformanceObserver(list => list.getEntries().forEach(entry => long.push(Math.round(entry.duration)))).observe({
      type: 'longtask',
    });
    for (let step = 0; step < 60; step++) {
      scrollBy(0, 1500);
      await new Promise(done => setTimeout(done, 50));
    }
    await new Promise(done => setTimeout(done, 300));
    return long;
  });
  assert.ok(
    tasks.every(ms => ms < 500),
    `the page was busy for ${tasks.join(', ')} ms`,
  );
  const shown = await page.locator('.run img').count();
  assert.ok(shown > 0, 'charts were shown on the way');
});
