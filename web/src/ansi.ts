// Output of a terminal as pieces of text with the names of classes. Nothing but colours and weights comes through:
// links, titles, the clipboard, moves of the cursor and everything else that a terminal would do are dropped, and
// characters that nobody could see, or that turn the order of others around, become visible.

export interface Piece {
  text: string;
  classes: string;
}

interface Style {
  bold: boolean;
  faint: boolean;
  italic: boolean;
  underline: boolean;
  strike: boolean;
  inverse: boolean;
  fg: number | null;
  bg: number | null;
}

const plain = (): Style => ({
  bold: false,
  faint: false,
  italic: false,
  underline: false,
  strike: false,
  inverse: false,
  fg: null,
  bg: null,
});

// The sixteen colours of a terminal, as the nearest of them is sought for finer ones: the page has its own shades of
// them, readable on light and on dark.
const RGB: [number, number, number][] = [
  [0, 0, 0],
  [205, 0, 0],
  [0, 205, 0],
  [205, 205, 0],
  [0, 0, 238],
  [205, 0, 205],
  [0, 205, 205],
  [229, 229, 229],
  [127, 127, 127],
  [255, 0, 0],
  [0, 255, 0],
  [255, 255, 0],
  [92, 92, 255],
  [255, 0, 255],
  [0, 255, 255],
  [255, 255, 255],
];

function nearest(r: number, g: number, b: number): number {
  let best = 0,
    least = Infinity;
  RGB.forEach(([r2, g2, b2], index) => {
    const distance = (r - r2) ** 2 + (g - g2) ** 2 + (b - b2) ** 2;
    if (distance < least) [best, least] = [index, distance];
  });
  return best;
}

function ofPalette(index: number): number {
  if (index < 16) return index;
  if (index >= 232) return nearest(...(Array(3).fill(8 + (index - 232) * 10) as [number, number, number]));
  const level = (n: number) => (n === 0 ? 0 : 55 + n * 40);
  const cube = index - 16;
  return nearest(level(Math.floor(cube / 36)), level(Math.floor(cube / 6) % 6), level(cube % 6));
}

/** Reads "5;N" or "2;R;G;B" from `codes` at `at`; says how many were used. */
function extended(codes: number[], at: number): [number | null, number] {
  const byte = (n: number | undefined) => Math.min(255, Math.max(0, n ?? 0));
  if (codes[at] === 5) return [ofPalette(byte(codes[at + 1])), 2];
  if (codes[at] === 2) return [nearest(byte(codes[at + 1]), byte(codes[at + 2]), byte(codes[at + 3])), 4];
  return [null, 1];
}

const WEIGHTS: Record<number, (style: Style) => void> = {
  1: s => {
    s.bold = true;
  },
  2: s => {
    s.faint = true;
  },
  3: s => {
    s.italic = true;
  },
  4: s => {
    s.underline = true;
  },
  7: s => {
    s.inverse = true;
  },
  9: s => {
    s.strike = true;
  },
  22: s => {
    s.bold = s.faint = false;
  },
  23: s => {
    s.italic = false;
  },
  24: s => {
    s.underline = false;
  },
  27: s => {
    s.inverse = false;
  },
  29: s => {
    s.strike = false;
  },
  39: s => {
    s.fg = null;
  },
  49: s => {
    s.bg = null;
  },
};

function apply(style: Style, parameters: string): Style {
  const codes = parameters.split(/[;:]/).map(Number);
  for (let at = 0; at < codes.length; at++) {
    const code = codes[at]!;
    if (code === 0) style = plain();
    else if (code === 38 || code === 48) {
      const [colour, used] = extended(codes, at + 1);
      if (code === 38) style.fg = colour;
      else style.bg = colour;
      at += used;
    } else if (code >= 30 && code <= 37) style.fg = code - 30;
    else if (code >= 90 && code <= 97) style.fg = code - 82;
    else if (code >= 40 && code <= 47) style.bg = code - 40;
    else if (code >= 100 && code <= 107) style.bg = code - 92;
    else WEIGHTS[code]?.(style);
  }
  return style;
}

function classesOf(style: Style): string {
  const names: string[] = [];
  if (style.bold) names.push('a-bold');
  if (style.faint) names.push('a-faint');
  if (style.italic) names.push('a-italic');
  if (style.underline) names.push('a-under');
  if (style.strike) names.push('a-strike');
  if (style.inverse) names.push('a-inverse');
  if (style.fg !== null) names.push('a-fg' + style.fg);
  if (style.bg !== null) names.push('a-bg' + style.bg);
  return names.join(' ');
}

// CSI with final byte; OSC, DCS, SOS, PM, APC up to their end; two-byte escapes; a lone escape. C1 forms too.
const ESCAPE = new RegExp(
  '(?:\\x1b\\[|\\x9b)([0-9;:<=>?]*)([ -/]*)([@-~])' +
    '|(?:\\x1b[\\]PX^_]|[\\x90\\x98\\x9d-\\x9f])[^\\x07\\x1b\\x9c]*(?:\\x07|\\x1b\\\\|\\x9c|$)' +
    '|\\x1b[ -/]*[0-Z\\\\^-~]|\\x1b',
  'g',
);

/** A line that is overwritten by a carriage return, as progress bars do, shows what is left of it in the end. */
function overwrite(text: string): string {
  if (!text.includes('\r') && !text.includes('\b')) return text;
  return text
    .split('\n')
    .map(line => {
      const parts = line.replace(/\r+$/, '').split('\r');
      let shown = parts[0] ?? '';
      for (const part of parts.slice(1)) if (part) shown = part + (hasEscape(part) ? '' : shown.slice(part.length));
      return shown.includes('\b') ? shown.replace(/[^\b]\x08/g, '').replace(/\x08/g, '') : shown;
    })
    .join('\n');
}
const hasEscape = (text: string) => text.includes('\x1b');

export function parseAnsi(input: string): Piece[] {
  const text = overwrite(input);
  const pieces: Piece[] = [];
  let style = plain(),
    from = 0;
  const add = (part: string) => {
    if (part) pieces.push({text: visible(part), classes: classesOf(style)});
  };
  for (const found of text.matchAll(ESCAPE)) {
    add(text.slice(from, found.index));
    from = found.index + found[0].length;
    if (found[3] === 'm' && !/[<=>?]/.test(found[1]!)) style = apply(style, found[1]!);
  }
  add(text.slice(from));
  return pieces;
}

// Controls, and characters that change the direction of what follows or take no room.
const HIDDEN =
  /[\x00-\x08\x0b-\x1f\x7f-\x9f\u00ad\u061c\u115f\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]|\udb40[\udc00-\udfff]/g;

const pictured = (found: string) => {
  const code = found.codePointAt(0)!;
  if (code < 0x20) return String.fromCharCode(0x2400 + code);
  if (code === 0x7f) return '\u2421';
  return `⟨U+${code.toString(16).toUpperCase().padStart(4, '0')}⟩`;
};

/** Text as it is, but with every character in sight. */
export const visible = (text: string) => text.replace(HIDDEN, pictured);

/** The same for one line, such as a name: it can be neither broken nor blank. */
export const visibleLine = (text: string) => visible(text).replace(/[\n\t\u2028\u2029\u0085]/g, pictured);
