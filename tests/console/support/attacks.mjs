// The attacks. Each has an id that every request it makes and every script it runs would carry.

/** A script that does what a successful attack would: it calls, and it carries something out. */
export const payload = (id, out) =>
  `(window.pwned||parent.pwned||(()=>0))('${id}');try{top.pwned('${id}')}catch(e){};fetch('${out}/${id}?script');new Image().src='${out}/${id}?image'`;

const py = text => JSON.stringify(text); // also a literal of Python, within the plain plane
const shows = (method, value) => `class Hostile:\n    def ${method}(self):\n        return ${py(value)}\nHostile()`;
const html = text => shows('_repr_html_', text);
const svg = text =>
  shows(
    '_repr_svg_',
    `<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink" width="90" height="40">${text}</svg>`,
  );
const file = (name, content) => `open(${py(name)}, "w", encoding="utf-8").write(${py(content)})`;

/** Pieces of HTML that do something on a page without protection. */
export function PAGES(out) {
  const js = id => payload(id, out).replaceAll('"', '&quot;');
  return {
    'h-script': `<p>text</p><script>${payload('h-script', out)}</script>`,
    'h-onerror': `<img src="${out}/h-onerror?src" onerror="${js('h-onerror')}">`,
    'h-onload': `<svg onload="${js('h-onload')}"></svg><body onload="${js('h-onload')}">`,
    'h-refresh': `<meta http-equiv="refresh" content="0;url=${out}/h-refresh">`,
    'h-form': `<form action="${out}/h-form" method="post" target="_self"><input name="a" value="b"><button>go</button></form>`,
    'h-formaction': `<form><button formaction="${out}/h-formaction">go</button></form>`,
    'h-link': `<a href="${out}/h-link" ping="${out}/h-link?ping">a link</a>`,
    'h-jslink': `<a href="javascript:${js('h-jslink')}">a link</a>`,
    'h-blank': `<a href="${out}/h-blank" target="_blank">a window</a>`,
    'h-iframe': `<iframe src="${out}/h-iframe"></iframe><iframe srcdoc="<script>${js('h-iframe')}</script>"></iframe>`,
    'h-object': `<object data="${out}/h-object"></object><embed src="${out}/h-object?embed">`,
    'h-css': `<style>@import url("${out}/h-css?import"); body { background: url("${out}/h-css?body") }</style><p style="background: url(${out}/h-css?attribute)">x</p>`,
    'h-font': `<style>@font-face { font-family: F; src: url("${out}/h-font") } p { font-family: F }</style><p>x</p>`,
    'h-sheet': `<link rel="stylesheet" href="${out}/h-sheet"><link rel="icon" href="${out}/h-sheet?icon">`,
    'h-preload': `<link rel="preload" as="image" href="${out}/h-preload"><link rel="prefetch" href="${out}/h-preload?prefetch">`,
    'h-base': `<base href="${out}/h-base/"><img src="picture.png">`,
    'h-media': `<video src="${out}/h-media" poster="${out}/h-media?poster" autoplay></video><audio src="${out}/h-media?audio" autoplay></audio>`,
    'h-srcset': `<picture><source srcset="${out}/h-srcset"><img srcset="${out}/h-srcset?img"></picture>`,
    'h-background': `<table background="${out}/h-background"><tr><td>x</td></tr></table>`,
  };
}

const HTML_WORDS = {
  'h-script': 'a script in a page',
  'h-onerror': 'a picture that fails, with a handler',
  'h-onload': 'handlers of loading',
  'h-refresh': 'a page that refreshes to elsewhere',
  'h-form': 'a form',
  'h-formaction': 'a button with an address of its own',
  'h-link': 'a link to elsewhere, with a ping',
  'h-jslink': 'a javascript: link',
  'h-blank': 'a link that opens a window',
  'h-iframe': 'frames within the frame',
  'h-object': 'objects and embeds',
  'h-css': 'addresses in CSS',
  'h-font': 'a font from elsewhere',
  'h-sheet': 'a style sheet and an icon from elsewhere',
  'h-preload': 'preload and prefetch',
  'h-base': 'another base address',
  'h-media': 'video and audio',
  'h-srcset': 'sources of a picture',
  'h-background': 'a background by attribute',
};

/** All of them. `check` looks at the cell of the run. */
export function ATTACKS(out) {
  const js = id => payload(id, out);
  const tag = id =>
    `<img src="${out}/${id}?tag" onerror="${js(id).replaceAll('"', '&quot;')}"><script>${js(id)}</script>`;
  const literally = text => async (cell, page, assert) =>
    assert.ok((await cell.innerText()).includes(text), `${text} is not shown as text`);
  return [
    {id: 'o-markup', about: 'markup in output', code: `print(${py(tag('o-markup'))})`, check: literally('<script>')},
    {
      id: 'o-stderr',
      about: 'markup in error output',
      code: `import sys\nprint(${py(tag('o-stderr'))}, file=sys.stderr)`,
      check: literally('<script>'),
    },
    {
      id: 'o-ansi',
      about: 'markup inside of escape sequences',
      code: `print(${py(`\u001b[31"onmouseover=x>${tag('o-ansi')}\u001b[0m \u001b[38;5;999999999m x`)})`,
    },
    {
      id: 'o-osc8',
      about: 'links of a terminal',
      code: `print(${py(`\u001b]8;;javascript:${js('o-osc8')}\u001b\\click me\u001b]8;;\u001b\\ \u001b]8;;${out}/o-osc8\u0007or me\u001b]8;;\u0007`)})`,
      check: async (cell, page, assert) => {
        assert.match(await cell.locator('.output pre').innerText(), /^click me or me\s*$/);
        assert.equal(await cell.locator('.output a').count(), 0);
      },
    },
    {
      id: 'o-osc52',
      about: 'title, clipboard and device strings of a terminal',
      code: `print(${py(`\u001b]0;${tag('o-osc52')}\u0007\u001b]52;c;ZXZpbA==\u0007\u001bP+q\u001b\\done`)})`,
      check: async (cell, page, assert) => assert.match(await cell.locator('.output pre').innerText(), /^done\s*$/),
    },
    {
      id: 'o-bidi',
      about: 'characters that turn text around',
      code: `print(${py('pay \u202e001\u202c to \u2066x\u2069 a\u200bb')})`,
      check: literally('⟨U+202E⟩001'),
    },
    {
      id: 'o-nul',
      about: 'NUL and other controls',
      code: 'print("a\\0b\\x07c\\x7fd\\x9b31mz")',
      check: literally('a␀b␇c␡d'),
    },
    {
      id: 'o-long',
      about: 'a line of a million characters',
      code: 'print("x" * 1_000_000)',
      check: async (cell, page, assert) =>
        assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth)),
    },
    {
      id: 'o-flood',
      about: 'a hundred thousand escape sequences',
      code: 'print("\\x1b[31mx\\x1b[0m" * 100_000)',
      check: async (cell, page, assert) => assert.ok((await cell.locator('span').count()) < 60_000),
    },
    {id: 'o-combining', about: 'letters buried under marks', code: 'print(("Z" + "\\u0301" * 400) * 20)'},
    {
      id: 'c-source',
      about: 'code that ends its own element, and reads differently than it runs',
      code: `# </code></pre>${tag('c-source')}\naccess = "user"\nif access != "user\u2066": # \u202e admin only\n    pass`,
      check: literally('⟨U+202E⟩ admin only'),
    },
    {
      id: 'c-error',
      about: 'markup in the message of an exception, and in its name',
      code: `raise type(${py('Evil')}, (Exception,), {})(${py(tag('c-error'))})`,
      check: async (cell, page, assert) => assert.match(await cell.locator('.line-note').innerText(), /<img src=/),
    },
    {id: 'v-plain', about: 'markup in a value', code: shows('__repr__', tag('v-plain')), check: literally('<script>')},
    {
      id: 'v-type',
      about: 'scripts as results',
      code: `class Hostile:\n    def _repr_javascript_(self): return ${py(js('v-type'))}\n    def _repr_mimebundle_(self, **_): return {"application/javascript": ${py(js('v-type'))}, "text/javascript": ${py(js('v-type'))}}\nHostile()`,
    },
    {
      id: 'v-proto',
      about: 'names that objects inherit, as types of a result',
      code: 'class Hostile:\n    def _repr_mimebundle_(self, include=None, exclude=None):\n        return {"__proto__": {"polluted": True, "text/html": "x"}, "constructor": {"prototype": {"polluted": True}}, "text/plain": "harmless"}\nHostile()',
      check: async (cell, page, assert) => assert.equal(await page.evaluate(() => ({}).polluted), undefined),
    },
    {
      id: 'v-png',
      about: 'a picture that is markup',
      code: `class Hostile:\n    def _repr_png_(self): return ${py(tag('v-png'))}.encode()\n    def _repr_jpeg_(self): return ${py('"><script>' + js('v-png') + '</script>')}\nHostile()`,
    },
    {
      id: 't-cells',
      about: 'a table with markup in its cells',
      code: html(
        `<table><tr><th>${tag('t-cells')}</th></tr><tr><td onmouseover="${js('t-cells').replaceAll('"', '&quot;')}">x</td></tr></table>`,
      ),
    },
    {
      id: 't-frame',
      about: 'a DataFrame whose cells and headers are markup',
      code: `import pandas as pd\npd.DataFrame({${py(tag('t-frame'))}: [${py(tag('t-frame'))}], "__proto__": ["=1+1"]})`,
      check: async (cell, page, assert) =>
        assert.match(await cell.locator('table').innerText(), /<script>[\s\S]*=1\+1/),
    },
    {
      id: 't-span',
      about: 'a cell that spans a billion columns',
      code: html('<table><tr><td colspan="1000000000" rowspan="1000000000">x</td></tr></table>'),
    },
    ...Object.entries(PAGES(out)).map(([id, text]) => ({
      id,
      about: `${HTML_WORDS[id]}, as a result`,
      code: html(`<h1>page</h1>${text}`),
    })),
    {
      id: 'm-mutation',
      about: 'markup that changes its meaning when it is read twice',
      code: html(
        `<math><mtext><table><mglyph><style><!--</style><img title="--&gt;&lt;img src=1 onerror=&quot;${js('m-mutation')}&quot;&gt;"></table></mtext></math><noscript><p title="</noscript>${tag('m-mutation').replaceAll('"', '&quot;')}"></noscript>`,
      ),
    },
    {
      id: 's-script',
      about: 'a drawing with scripts',
      code: svg(
        `<script>${js('s-script').replaceAll('&', '&amp;')}</script><rect width="90" height="40" fill="red" onload="${js('s-script').replaceAll('&', '&amp;').replaceAll('"', '&quot;')}"/>`,
      ),
      check: async (cell, page, assert) => assert.equal(await cell.locator('iframe[sandbox=""]').count(), 1),
    },
    {
      id: 's-foreign',
      about: 'a drawing with a page inside',
      code: svg(
        `<foreignObject width="90" height="40"><body xmlns="http://www.w3.org/1999/xhtml"><iframe src="${out}/s-foreign"></iframe><img src="${out}/s-foreign?img" onerror="pwned('s-foreign')"/></body></foreignObject>`,
      ),
    },
    {
      id: 's-use',
      about: 'a drawing with pictures and uses from elsewhere',
      code: svg(
        `<image href="${out}/s-use"/><use xlink:href="${out}/s-use?use#a"/><a xlink:href="${out}/s-use?a"><text y="20">click</text></a><set attributeName="href" to="javascript:pwned('s-use')"/>`,
      ),
    },
    {
      id: 's-css',
      about: 'a drawing with styles from elsewhere',
      code: svg(
        `<style>@import url("${out}/s-css"); rect { fill: url("${out}/s-css?fill#a") }</style><rect width="9" height="9"/>`,
      ),
    },
    {
      id: 's-entity',
      about: 'a drawing with entities from elsewhere',
      code: shows(
        '_repr_svg_',
        `<?xml version="1.0"?><?xml-stylesheet href="${out}/s-entity?sheet"?><!DOCTYPE svg [<!ENTITY e SYSTEM "${out}/s-entity">]><svg xmlns="http://www.w3.org/2000/svg"><text>&e;</text></svg>`,
      ),
    },
    {
      id: 's-break',
      about: 'a drawing that ends its own address',
      code: shows(
        '_repr_svg_',
        `"><script>${js('s-break')}</script><svg onload="${js('s-break').replaceAll('"', '&quot;')}">`,
      ),
    },
    {
      id: 'f-name',
      about: 'markup in the name of a file',
      code: file('<img src=x onerror=pwned(`f-name`)>.txt', 'x'),
      check: literally('<img src=x onerror=pwned(`f-name`)>.txt'),
    },
    {
      id: 'f-bidi',
      about: 'a name that hides what a file is',
      code: file('invoice\u202efdp.exe', 'x'),
      check: literally('invoice⟨U+202E⟩fdp.exe'),
    },
    {
      id: 'f-lines',
      about: 'line breaks and quotes in a name',
      code: file('a"b\'\n\r\t;c.csv', 'a,b\n1,2\n'),
      check: literally('a"b\'␊␍␉;c.csv'),
    },
    {
      id: 'f-scheme',
      about: 'names that are addresses',
      code: `${file("javascript:pwned('f-scheme')", 'x')}\n${file('data:text,pwned.html', '<script>pwned("f-scheme")</script>')}`,
      check: async (cell, page, assert) => {
        for (const link of await cell.locator('a').all())
          assert.match(await link.getAttribute('href'), /^\/v1\/files\/file_/);
      },
    },
    {
      id: 'f-folder',
      about: 'a name as long as names can be',
      code: `import os\nos.makedirs("d/" * 8)\n${file('d/'.repeat(8) + 'n'.repeat(200) + '.txt', 'x')}`,
      check: async (cell, page, assert) =>
        assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth)),
    },
    {
      id: 'f-formula',
      about: 'formulas in a CSV',
      code: file(
        'formulas.csv',
        `name,value\n"=HYPERLINK(""${out}/f-formula"",""click"")",1\n@SUM(1),+cmd|' /C calc'!A0\n-2+3,"=1+1"\n`,
      ),
      check: async (cell, page, assert) => {
        assert.match(await cell.locator('table').innerText(), /=HYPERLINK\("/);
        assert.equal(await cell.locator('table a').count(), 0);
      },
    },
    {
      id: 'f-csv',
      about: 'markup in a CSV',
      code: file(
        'markup.csv',
        `${tag('f-csv').replaceAll('"', "'")},__proto__\n<script>pwned('f-csv')</script>,\u0000\u202e\n`,
      ),
      check: literally('<script>'),
    },
    {
      id: 'f-wide',
      about: 'a CSV with a hundred thousand columns',
      code: 'open("wide.csv", "w").write(",".join(map(str, range(100_000))) + "\\n" + "," * 99_999)',
      check: async (cell, page, assert) => assert.ok((await cell.locator('th').count()) <= 60),
    },
    {
      id: 'f-svg',
      about: 'a kept drawing with a script',
      code: file(
        'hostile.svg',
        `<svg xmlns="http://www.w3.org/2000/svg" onload="pwned('f-svg')"><script>${js('f-svg').replaceAll('&', '&amp;')}</script><image href="${out}/f-svg"/></svg>`,
      ),
    },
    {
      id: 'f-html',
      about: 'a kept page with a script',
      code: file('hostile.html', tag('f-html') + `<a href="${out}/f-html">x</a>`),
    },
    {
      id: 'f-png',
      about: 'a picture by its name, a page by its content',
      code: `${file('page.png', tag('f-png'))}\n${file('page.txt', tag('f-png'))}`,
      check: literally('is broken, or no longer kept'),
    },
    {
      id: 'f-json',
      about: 'JSON with names that objects inherit',
      code: file('proto.json', '{"__proto__": {"polluted": 1}, "constructor": {"prototype": {"polluted": 1}}}'),
      check: async (cell, page, assert) => assert.equal(await page.evaluate(() => ({}).polluted), undefined),
    },
    {
      id: 'f-skipped',
      about: 'markup in the name of a file that was not kept',
      code: 'open("<img src=x onerror=pwned(`f-skipped`)>", "wb").write(bytes(5 << 20))',
      check: literally('onerror=pwned(`f-skipped`)'),
    },
  ];
}
