// HTML that untrusted code made. A plain table is read and shown as the page's own, cell by cell as text. Everything
// else goes into a frame with an empty sandbox attribute: an origin of its own, no scripts, forms, windows, downloads
// or top-level navigation; and the page's own policy, which the frame inherits, keeps every request inside.

export interface HtmlTable {
  head: string[][];
  body: {text: string; header: boolean}[][];
  note: string;
  cut: boolean;
}

interface Policy {
  createHTML(text: string): string;
}
declare const trustedTypes: {createPolicy(name: string, rules: Policy): Policy} | undefined;

// The one place where text becomes HTML; the service's policy allows this name only.
const policy: Policy =
  typeof trustedTypes === 'undefined'
    ? {createHTML: text => text}
    : trustedTypes.createPolicy('console-frame', {createHTML: text => text});

const FRAME_POLICY = "default-src 'none'; img-src data:; form-action 'none'; base-uri 'none'";
const FRAME_HEAD =
  `<!doctype html><meta charset="utf-8"><meta http-equiv="Content-Security-Policy" content="${FRAME_POLICY}">` +
  '<meta name="referrer" content="no-referrer">';

// Links of the head can make a browser look up names and open connections, which no policy forbids; so can the mere
// address of a link in the text. The rest could do nothing, and goes because it would only look broken.
const REMOVED =
  'link, meta, base, script, noscript, iframe, frame, frameset, object, embed, portal, fencedframe, template';
const ADDRESSES = ['href', 'xlink:href', 'ping', 'action', 'formaction', 'target', 'background', 'srcset', 'poster'];

function sealed(html: string): string {
  const page = new DOMParser().parseFromString(policy.createHTML(html), 'text/html');
  page.querySelectorAll(REMOVED).forEach(element => element.remove());
  for (const element of page.querySelectorAll('*')) {
    for (const name of ADDRESSES) element.removeAttribute(name);
    if (!/^data:image\//i.test(element.getAttribute('src') ?? '')) element.removeAttribute('src');
  }
  return page.documentElement.outerHTML;
}

export function fillFrame(frame: HTMLIFrameElement, content: string) {
  frame.srcdoc = policy.createHTML(FRAME_HEAD + sealed(content));
}

/** A drawing as a picture: within a picture nothing runs and nothing is fetched, whatever the frame would allow. */
export function svgPage(svg: string): string {
  const bytes = new TextEncoder().encode(svg);
  let binary = '';
  for (let at = 0; at < bytes.length; at += 8192) binary += String.fromCharCode(...bytes.subarray(at, at + 8192));
  return `<body bgcolor="white"><center><img alt="" src="data:image/svg+xml;base64,${btoa(binary)}"></center>`;
}

const ALLOWED = new Set([
  'HTML',
  'HEAD',
  'BODY',
  'DIV',
  'STYLE',
  'TABLE',
  'THEAD',
  'TBODY',
  'TFOOT',
  'TR',
  'TH',
  'TD',
  'P',
  'B',
  'I',
  'EM',
  'STRONG',
  'SPAN',
  'BR',
  'CAPTION',
  'COLGROUP',
  'COL',
  'CODE',
]);
const ROWS_MAX = 200,
  COLUMNS_MAX = 60,
  CELL_MAX = 2000;

// Styles are of no use to a table of the page, and the parser would report each of them to the page's policy. This only
// spares the noise: whatever is left of them is still nothing but text.
const withoutStyles = (html: string) =>
  html.replace(/<style\b[^]*?<\/style\s*>/gi, '').replace(/\sstyle="[^"]*"/gi, '');

/** The table, if the text is one and nothing else. What it is read into has no window: it runs and loads nothing. */
export function readTable(html: string): HtmlTable | null {
  if (html.length > 4 << 20 || !/<table/i.test(html)) return null;
  const page = new DOMParser().parseFromString(policy.createHTML(withoutStyles(html)), 'text/html');
  const tables = page.getElementsByTagName('table');
  if (tables.length !== 1) return null;
  for (const element of page.querySelectorAll('*')) if (!ALLOWED.has(element.tagName)) return null;
  const table = tables[0]!;
  const cells = (row: HTMLTableRowElement) =>
    [...row.cells].slice(0, COLUMNS_MAX).flatMap(cell => {
      const entry = {text: (cell.textContent ?? '').trim().slice(0, CELL_MAX), header: cell.tagName === 'TH'};
      return [entry, ...Array(Math.min(COLUMNS_MAX, cell.colSpan) - 1).fill({text: '', header: entry.header})];
    });
  const rows = [...table.rows];
  const head = rows.filter(row => row.parentElement?.tagName === 'THEAD');
  const body = rows.filter(row => row.parentElement?.tagName !== 'THEAD');
  const note = [...page.querySelectorAll('p')]
    .map(p => p.textContent ?? '')
    .join(' ')
    .trim()
    .slice(0, 200);
  return {
    head: head.slice(0, 6).map(row => cells(row).map(cell => cell.text)),
    body: body.slice(0, ROWS_MAX).map(cells),
    note,
    cut: body.length > ROWS_MAX,
  };
}
