// The parts of the page that need no browser: colours of output, CSV, events, words.
import assert from 'node:assert/strict';
import {mkdtempSync, readFileSync, writeFileSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {dirname, join} from 'node:path';
import {fileURLToPath, pathToFileURL} from 'node:url';
import ts from 'typescript';
import {test} from './support/tests.mjs';

const SOURCE = join(dirname(fileURLToPath(import.meta.url)), '../../web/src');
let folder = null;

/** A module of the page, its types taken off. */
async function load(name) {
  if (!folder) {
    folder = mkdtempSync(join(tmpdir(), 'units-'));
    writeFileSync(join(folder, 'package.json'), '{"type": "module"}');
    for (const file of ['ansi', 'csv', 'events', 'format']) {
      const {outputText} = ts.transpileModule(readFileSync(join(SOURCE, file + '.ts'), 'utf8'), {
        compilerOptions: {target: 'ES2022', module: 'ES2022'},
      });
      writeFileSync(join(folder, file + '.js'), outputText);
    }
  }
  return import(pathToFileURL(join(folder, name + '.js')).href);
}

const textOf = pieces => pieces.map(piece => piece.text).join('');

test('units: colours of a terminal become classes, and nothing else does', async () => {
  const {parseAnsi} = await load('ansi');
  assert.deepEqual(parseAnsi('\x1b[1;31mred\x1b[0m plain'), [
    {text: 'red', classes: 'a-bold a-fg1'},
    {text: ' plain', classes: ''},
  ]);
  assert.deepEqual(parseAnsi('\x1b[38;5;196mx'), [{text: 'x', classes: 'a-fg9'}]);
  assert.deepEqual(parseAnsi('\x1b[48;2;0;0;238mx'), [{text: 'x', classes: 'a-bg4'}]);
  assert.equal(textOf(parseAnsi('a\x1b[2Jb\x1b[10;10Hc\x1b[?25ld')), 'abcd');
  for (const piece of parseAnsi('\x1b[31"><script>m;\x1b[999;38;5mx\x1b[38;2;1e9;-1;NaNmz'))
    assert.match(piece.classes, /^[a-z0-9 -]*$/);
});

test('units: links, titles and the clipboard of a terminal are dropped', async () => {
  const {parseAnsi} = await load('ansi');
  assert.equal(textOf(parseAnsi('\x1b]8;;http://evil.test/\x1b\\click\x1b]8;;\x1b\\')), 'click');
  assert.equal(textOf(parseAnsi('\x1b]0;title\x07text')), 'text');
  assert.equal(textOf(parseAnsi('\x1b]52;c;ZXZpbA==\x07text')), 'text');
  assert.equal(textOf(parseAnsi('\x1bPq#0\x1b\\text\x1b_apc\x1b\\')), 'text');
});

test('units: what nobody could see is shown', async () => {
  const {visible, visibleLine, parseAnsi} = await load('ansi');
  assert.equal(visible('invoice\u202efdp.exe'), 'invoice⟨U+202E⟩fdp.exe');
  assert.equal(visible('a\x00b\u200bc'), 'a␀b⟨U+200B⟩c');
  assert.equal(visibleLine('one\ntwo'), 'one␊two');
  assert.equal(textOf(parseAnsi('10 %\r99 %')), '99 %');
});

test('units: CSV with quotes, line breaks and separators of its own', async () => {
  const {parseCsv, separatorOf, isNumber} = await load('csv');
  assert.deepEqual(parseCsv('a,b\n"x, ""y""","two\nlines"\n', ',', 9, true), {
    rows: [
      ['a', 'b'],
      ['x, "y"', 'two\nlines'],
    ],
    complete: true,
  });
  assert.deepEqual(parseCsv('a\n1\n2\n3', ',', 2, true), {rows: [['a'], ['1']], complete: false});
  assert.deepEqual(parseCsv('a,b\n1,2\ncut', ',', 9, false).rows, [
    ['a', 'b'],
    ['1', '2'],
  ]);
  assert.equal(separatorOf('a;b;c\n1,5;2;3', 'text/csv'), ';');
  assert.deepEqual(['1', '-2.5e3', '1,000', '7 %', '=1+1', '', 'x'].map(isNumber), [
    true,
    true,
    true,
    true,
    false,
    false,
    false,
  ]);
});

test('units: events come in pieces of any size', async () => {
  const {EventParser} = await load('events');
  const text =
    ': hello\n\nevent: stdout\ndata: {"text":"a"}\n\nevent: done\r\ndata: 1\r\ndata: 2\r\n\r\nevent: empty\n\n';
  for (const size of [1, 3, 1000]) {
    const parser = new EventParser(),
      found = [];
    for (let at = 0; at < text.length; at += size) found.push(...parser.push(text.slice(at, at + size)));
    assert.deepEqual(found, [
      {name: 'stdout', data: '{"text":"a"}'},
      {name: 'done', data: '1\n2'},
    ]);
  }
});

test('units: numbers have units and outcomes are words', async () => {
  const {bytes, duration, outcomeWords, relative, counted} = await load('format');
  const plain = text => text.replaceAll('\u00a0', ' ');
  assert.deepEqual([0, 1023, 1536, 512 << 20].map(bytes).map(plain), ['0 B', '1,023 B', '1.5 KiB', '512 MiB']);
  assert.deepEqual([0.25, 24.68, 20000, 7.2e6].map(duration).map(plain), ['0.25 ms', '24.7 ms', '20 s', '2 h']);
  const limits = {memory: 512 << 20, output: 64 << 20},
    usage = {wall_ms: 20003};
  const words = (outcome, exit_code = 1, stderr) => plain(outcomeWords({outcome, exit_code, usage, stderr}, limits));
  assert.equal(words('timeout'), 'Stopped after 20 s');
  assert.equal(words('out_of_memory'), 'Stopped: over 512 MiB of memory');
  assert.equal(words('output_limit'), 'Stopped: printed more than 64 MiB');
  assert.equal(words('error', 139), 'Crashed with SIGSEGV');
  assert.equal(words('error', 3), 'Ended with exit code 3');
  assert.equal(
    words(
      'error',
      1,
      'Traceback (most recent call last):\n  File "/home/nonroot/main.py", line 4, in <module>\nKeyError: 1\n',
    ),
    'Ended with KeyError',
  );
  assert.deepEqual(
    [-2, -100, -7300, 86400].map(s => relative(s * 1000, 0)),
    ['just now', '2 minutes ago', '2 hours ago', 'tomorrow'],
  );
  assert.deepEqual(
    [1, 1200].map(n => plain(counted(n, 'run'))),
    ['1 run', '1,200 runs'],
  );
});

test('units: the line that an error came from', async () => {
  const {exceptionOf} = await load('format');
  const trace =
    'Traceback (most recent call last):\n  File "/home/nonroot/main.py", line 8, in <module>\n  File "/home/nonroot/main.py", line 4, in average\nZeroDivisionError: division by zero\n';
  assert.deepEqual(exceptionOf(trace), {name: 'ZeroDivisionError', message: 'division by zero', line: 4});
  assert.equal(exceptionOf('just a warning\n'), null);
  assert.equal(
    exceptionOf('  File "/home/nonroot/main.py", line 2\n    x = = 1\nSyntaxError: invalid syntax\n').line,
    2,
  );
});
