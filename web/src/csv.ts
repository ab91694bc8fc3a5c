// The first rows of a table in a file. Cells are text and stay text: what a spreadsheet would take for a formula is
// shown as it stands.

export interface Table {
  rows: string[][];
  complete: boolean; // the whole file was read
}

const COLUMNS_MAX = 60;

export function parseCsv(text: string, separator: string, rowsMax: number, whole: boolean): Table {
  const rows: string[][] = [];
  let row: string[] = [],
    cell = '',
    quoted = false,
    at = 0;
  const source = text.startsWith('\ufeff') ? text.slice(1) : text;
  const endCell = () => {
    if (row.length < COLUMNS_MAX) row.push(cell);
    cell = '';
  };
  const endRow = () => {
    endCell();
    rows.push(row);
    row = [];
  };
  for (; at < source.length && rows.length < rowsMax; at++) {
    const c = source[at]!;
    if (quoted) {
      if (c !== '"') cell += c;
      else if (source[at + 1] === '"') {
        cell += '"';
        at++;
      } else quoted = false;
    } else if (c === '"' && cell === '') quoted = true;
    else if (c === separator) endCell();
    else if (c === '\n') endRow();
    else if (c !== '\r') cell += c;
  }
  const ended = at >= source.length;
  if (ended && whole && (cell !== '' || row.length > 0)) endRow();
  return {rows, complete: ended && whole};
}

export const separatorOf = (text: string, mediaType: string) => {
  if (mediaType === 'text/tab-separated-values') return '\t';
  const line = text.slice(0, text.indexOf('\n') + 1 || undefined);
  const counts = [',', ';', '\t'].map(mark => [mark, line.split(mark).length] as const);
  return counts.reduce((best, next) => (next[1] > best[1] ? next : best))[0];
};

export const isNumber = (text: string) => /^\s*[-+−]?(\d[\d,_]*\.?\d*|\.\d+)([eE][-+]?\d+)?\s*%?\s*$/.test(text);
