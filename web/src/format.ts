// Numbers with their units, times, and outcomes in words.
import type {Outcome, Reply, RunSummary} from './types';

const NBSP = '\u00a0';
const number = new Intl.NumberFormat('en', {maximumFractionDigits: 0});
const fine = new Intl.NumberFormat('en', {maximumSignificantDigits: 3});

export const count = (value: number) => number.format(value);
export const counted = (value: number, one: string, many = one + 's') =>
  `${number.format(value)}${NBSP}${value === 1 ? one : many}`;

export function bytes(value: number): string {
  if (value < 1024) return `${number.format(value)}${NBSP}B`;
  const units = ['KiB', 'MiB', 'GiB', 'TiB'];
  let unit = -1;
  do {
    value /= 1024;
    unit++;
  } while (value >= 1023.5 && unit < units.length - 1);
  return `${value >= 100 ? number.format(value) : fine.format(value)}${NBSP}${units[unit]}`;
}

export function duration(ms: number): string {
  if (ms < 1) return `${fine.format(Math.max(0, ms))}${NBSP}ms`;
  if (ms < 1000) return `${ms < 100 ? fine.format(ms) : number.format(ms)}${NBSP}ms`;
  const seconds = ms / 1000;
  if (seconds < 100) return `${fine.format(seconds)}${NBSP}s`;
  if (seconds < 7200) return `${number.format(Math.round(seconds / 60))}${NBSP}min`;
  if (seconds < 172800) return `${number.format(Math.round(seconds / 3600))}${NBSP}h`;
  return `${number.format(Math.round(seconds / 86400))}${NBSP}days`;
}

// ---- times

const relativeWords = new Intl.RelativeTimeFormat('en', {numeric: 'auto'});
const exactWords = new Intl.DateTimeFormat(undefined, {dateStyle: 'full', timeStyle: 'long'});
const STEPS: [Intl.RelativeTimeFormatUnit, number, number][] = [
  ['second', 1, 60],
  ['minute', 60, 3600],
  ['hour', 3600, 86400],
  ['day', 86400, Infinity],
];

export function relative(time: number, now: number): string {
  const seconds = (time - now) / 1000;
  const size = Math.abs(seconds);
  if (size < 5) return 'just now';
  for (const [unit, length, end] of STEPS)
    if (size < end * 0.995) return relativeWords.format(Math.round(seconds / length), unit);
  return '';
}

export const exact = (time: number) => (Number.isFinite(time) ? exactWords.format(time) : 'unknown time');

// ---- outcomes

export type Tone = 'good' | 'bad' | 'warn' | 'quiet';
export const OUTCOMES: Record<Outcome, {short: string; tone: Tone}> = {
  ok: {short: 'Finished', tone: 'good'},
  error: {short: 'Error', tone: 'bad'},
  timeout: {short: 'Timed out', tone: 'warn'},
  out_of_memory: {short: 'Out of memory', tone: 'warn'},
  output_limit: {short: 'Too much output', tone: 'warn'},
  killed: {short: 'Sandbox lost', tone: 'quiet'},
  internal: {short: 'Never ran', tone: 'quiet'},
};

const SIGNALS: Record<number, string> = {
  4: 'SIGILL',
  6: 'SIGABRT',
  7: 'SIGBUS',
  8: 'SIGFPE',
  9: 'SIGKILL',
  11: 'SIGSEGV',
  13: 'SIGPIPE',
  15: 'SIGTERM',
  31: 'SIGSYS',
};

export const toneOf = (outcome: string): Tone => OUTCOMES[outcome as Outcome]?.tone ?? 'quiet';
export const shortOf = (outcome: string): string => OUTCOMES[outcome as Outcome]?.short ?? 'Unknown';

function errorWords(run: Partial<Reply> & Pick<RunSummary, 'exit_code'>): string {
  const signal = run.exit_code - 128;
  if (signal > 0 && SIGNALS[signal]) return `Crashed with ${SIGNALS[signal]}`;
  const name = run.stderr === undefined ? undefined : exceptionOf(run.stderr)?.name;
  if (name) return `Ended with ${name}`;
  return `Ended with exit code ${run.exit_code}`;
}

/** "Stopped after 20 s": what came of a run, for people. */
export function outcomeWords(
  run: Pick<RunSummary, 'outcome' | 'exit_code' | 'usage'> & {stderr?: string},
  limits: {memory: number; output: number},
): string {
  switch (run.outcome) {
    case 'ok':
      return 'Finished';
    case 'error':
      return errorWords(run as never);
    case 'timeout':
      return `Stopped after ${duration(run.usage.wall_ms)}`;
    case 'out_of_memory':
      return `Stopped: over ${bytes(limits.memory)} of memory`;
    case 'output_limit':
      return `Stopped: printed more than ${bytes(limits.output)}`;
    case 'killed':
      return 'Its sandbox was lost: run it again';
    case 'internal':
      return 'Never ran, a fault of the service: run it again';
    default:
      return 'Unknown outcome';
  }
}

export interface RunError {
  name: string;
  message: string;
  line: number | null;
}

/** The exception that ended a run, and the line of its own code that it came from, read from the traceback. */
export function exceptionOf(stderr: string): RunError | null {
  const text = stderr.slice(-65536).replace(/\x1b\[[0-9;]*m/g, '');
  const lines = text.trimEnd().split('\n');
  let at = lines.length - 1;
  while (at >= 0 && !/^[A-Za-z_][\w.]*(?:: |$)/.test(lines[at]!)) at--;
  if (at < 0) return null;
  const [, name, message] = /^([A-Za-z_][\w.]*)(?:: (.*))?$/.exec(lines[at]!) ?? [];
  if (!name) return null;
  const frames = [...text.matchAll(/^\s*File "\/home\/nonroot\/main\.py", line (\d+)/gm)];
  const last = frames[frames.length - 1];
  if (!last) return null;
  return {name: name.split('.').pop()!, message: message ?? '', line: Number(last[1])};
}

// ---- files

const KINDS: Record<string, string> = {
  'text/csv': 'CSV table',
  'text/tab-separated-values': 'TSV table',
  'text/plain': 'Text',
  'application/json': 'JSON',
  'text/html': 'HTML page',
  'image/svg+xml': 'SVG drawing',
  'image/png': 'PNG picture',
  'image/jpeg': 'JPEG picture',
  'image/gif': 'GIF picture',
  'image/webp': 'WebP picture',
  'application/pdf': 'PDF document',
  'application/zip': 'ZIP archive',
  'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet': 'Excel workbook',
  'text/markdown': 'Markdown text',
  'application/octet-stream': 'Binary file',
  'text/x-python': 'Python source',
};
export const kindOf = (mediaType: string) => KINDS[mediaType] ?? mediaType;

export const SKIPPED: Record<string, string> = {
  too_large: 'over 4 MiB',
  total_too_large: 'the files of this run would be over 16 MiB',
  too_many: 'too many files',
  not_a_regular_file: 'a link, pipe or socket',
  unreadable: 'could not be read',
  name: 'its name is too long',
  quota: 'the project keeps as much as it may',
};
