// Builds the Console into dist/, which the service embeds: npm ci && npm run build
//
// dist/index.html       from index.html; names the two files below
// dist/assets/*         scripts, styles, fonts, pictures. Each has a hash of its content in its name, so that a browser
//                       may keep it for ever
// dist/licences.txt     what the bundled packages ask to be told with them
import {build} from 'esbuild';
import {mkdir, readFile, readdir, rm, writeFile} from 'node:fs/promises';
import {join, dirname, relative} from 'node:path';
import {fileURLToPath} from 'node:url';

const top = dirname(fileURLToPath(import.meta.url));
const dist = join(top, 'dist');
const base = '/console/';

async function bundle() {
  return build({
    absWorkingDir: top,
    entryPoints: ['src/main.ts'],
    bundle: true,
    splitting: true,
    format: 'esm',
    target: ['es2022'],
    minify: true,
    metafile: true,
    legalComments: 'none', // licences.txt has them whole
    outdir: 'dist/assets',
    entryNames: '[name]-[hash]',
    chunkNames: '[name]-[hash]',
    assetNames: '[name]-[hash]',
    publicPath: base + 'assets/',
    loader: {'.svg': 'file', '.png': 'file', '.woff2': 'file'},
    logLevel: 'info',
  });
}

/** The names of the entry point's script and style, as the page must name them. */
function entryFiles(metafile) {
  for (const [path, output] of Object.entries(metafile.outputs)) {
    if (output.entryPoint === 'src/main.ts') {
      const url = file => base + relative('dist', file);
      return {script: url(path), style: output.cssBundle ? url(output.cssBundle) : null};
    }
  }
  throw new Error('the bundle has no src/main.ts');
}

async function writePage({script, style}) {
  const template = await readFile(join(top, 'index.html'), 'utf8');
  const page = template.replaceAll('{{script}}', script).replaceAll('{{style}}', style ?? '');
  if (page.includes('{{')) throw new Error('index.html has a placeholder that nobody fills');
  await writeFile(join(dist, 'index.html'), page);
}

/** The folders of the packages that are in the bundle. */
function bundledPackages(metafile) {
  const folders = new Set();
  for (const output of Object.values(metafile.outputs))
    for (const [input, {bytesInOutput}] of Object.entries(output.inputs)) {
      const found = /^(.*node_modules\/(?:@[^/]+\/)?[^/]+)\//.exec(input);
      if (found && bytesInOutput > 0) folders.add(found[1]);
    }
  return [...folders].sort();
}

async function licenceOf(folder) {
  const {name, version, license} = JSON.parse(await readFile(join(top, folder, 'package.json'), 'utf8'));
  const file = (await readdir(join(top, folder))).find(entry => /^licen[cs]e/i.test(entry));
  if (!file) throw new Error(`${name} has no licence file`);
  const text = await readFile(join(top, folder, file), 'utf8');
  return `${name} ${version} (${license})\n\n${text.trim()}\n`;
}

async function writeLicences(metafile) {
  const texts = await Promise.all(bundledPackages(metafile).map(licenceOf));
  const line = '-'.repeat(100);
  const head = 'The Console contains these packages.\n';
  await writeFile(join(dist, 'licences.txt'), [head, ...texts].join(`\n${line}\n\n`));
}

await rm(dist, {recursive: true, force: true});
await mkdir(dist, {recursive: true});
const {metafile} = await bundle();
await writePage(entryFiles(metafile));
await writeLicences(metafile);
