/**
 * Checks and bundles the browser side of the console: `node scripts/build-console.mjs`. It writes a page, its script,
 * scripts of pages that are loaded when they are opened, one stylesheet and one font to dist/api/console/app. The
 * console's server compresses them.
 */
import { spawnSync } from 'node:child_process';
import { mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';

const root = fileURLToPath(new URL('..', import.meta.url));
const source = join(root, 'api', 'console', 'app');
const target = join(root, 'dist', 'api', 'console', 'app');

const compiler = join(root, 'node_modules', 'typescript', 'bin', 'tsc');
const { status } = spawnSync(process.execPath, [compiler, '-p', source], { cwd: root, stdio: 'inherit' });
if (status === 0) await bundle();
else process.exitCode = 1;

async function bundle() {
  await rm(target, { recursive: true, force: true });
  await mkdir(target, { recursive: true });
  const { metafile } = await build({
    entryPoints: [join(source, 'main.tsx'), join(source, 'styles', 'main.css')],
    outdir: target,
    entryNames: '[name]-[hash]',
    assetNames: '[name]-[hash]',
    loader: { '.woff2': 'file' },
    chunkNames: '[name]-[hash]',
    bundle: true,
    splitting: true,
    minify: true,
    format: 'esm',
    target: 'es2022',
    jsx: 'automatic',
    jsxImportSource: 'preact',
    metafile: true,
    logLevel: 'warning',
  });
  const outputs = Object.entries(metafile.outputs);
  const fileOf = (isWanted) => `/${outputs.map(([path]) => basename(path)).find(isWanted)}`;
  const nameOf = (extension) => fileOf((name) => name.startsWith('main-') && name.endsWith(extension));
  const page = await readFile(join(source, 'index.html'), 'utf8');
  const names = {
    FONT: fileOf((name) => name.endsWith('.woff2')),
    STYLE: nameOf('.css'),
    SCRIPT: nameOf('.js'),
  };
  const [, script] = outputs.find(([path]) => `/${basename(path)}` === names.SCRIPT);
  // The browser would otherwise ask for them after it has read the script.
  const imported = script.imports
    .filter(({ kind }) => kind === 'import-statement')
    .map(({ path }) => `    <link rel="modulepreload" href="/${basename(path)}" />\n`);
  await writeFile(
    join(target, 'index.html'),
    page
      .replaceAll(/"(FONT|STYLE|SCRIPT)"/g, (_, name) => `"${names[name]}"`)
      .replace('  </head>', `${imported.join('')}  </head>`),
  );
}
