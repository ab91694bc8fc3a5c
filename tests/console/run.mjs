// Runs the tests of the Console, or lists them: node run.mjs [--list] [PART OF A NAME ...]
//
// Wants the service's address and admin key in CONSOLE_URL and CONSOLE_ADMIN_KEY, and writes a line of JSON for each
// test to CONSOLE_RESULTS; test_console.py sees to both.
import {appendFileSync} from 'node:fs';
import {tests} from './support/tests.mjs';

const FILES = [
  'units',
  'signin',
  'conversations',
  'notebook',
  'playground',
  'status',
  'attacks',
  'states',
  'looks',
  'docs',
  'large',
  'wrongkeys',
];
const MOST_MS = 120_000; // only for one that hangs: the machine may be busy

for (const file of FILES) await import(`./${file}.test.mjs`);

const wanted = process.argv.slice(2).filter(word => !word.startsWith('--'));
const chosen = tests.filter(test => wanted.length === 0 || wanted.some(part => test.name.includes(part)));

async function within(ms, work) {
  let timer;
  const late = new Promise((_, reject) => {
    timer = setTimeout(() => reject(new Error(`not done after ${ms} ms`)), ms);
  });
  try {
    return await Promise.race([work(), late]);
  } finally {
    clearTimeout(timer);
  }
}

async function runAll() {
  const {makeWorld} = await import('./support/world.mjs');
  const world = await makeWorld();
  let failed = 0;
  for (const {name, run} of chosen) {
    const began = performance.now();
    let problem = null;
    try {
      await within(MOST_MS, () => run(world));
      const trouble = world.trouble();
      if (trouble.length) throw new Error(trouble.join('\n'));
    } catch (caught) {
      problem = String(caught?.stack ?? caught).slice(0, 4000);
      failed++;
    }
    await world.closePages(problem && name);
    const line = `${problem ? 'FAILED' : 'ok    '} ${name} (${Math.round(performance.now() - began)} ms)`;
    console.log(problem ? `${line}\n${problem}` : line);
    if (process.env.CONSOLE_RESULTS)
      appendFileSync(process.env.CONSOLE_RESULTS, JSON.stringify({name, problem}) + '\n');
  }
  await world.close();
  return failed;
}

if (process.argv.includes('--list')) console.log(chosen.map(test => test.name).join('\n'));
else process.exit((await runAll()) ? 1 : 0);
