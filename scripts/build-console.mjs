/**
 * Checks and bundles the browser side of the console: `node scripts/build-console.mjs`. It writes a page, its script,
 * scripts of pages that are loaded when they are opened, one stylesheet and one font to dist/api/console/app. The
 * console's server compresses them. It names the scripts of a page, listed in page-scripts.json, beside the page.
 */
import { spawnSync } from 'node:child_process';
import { mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises';
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
  const modules = await pageModules();
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
    plugins: [onePart(modules.map(([, module]) => module))],
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
  const importsOf = (path, known = new Set()) => {
    for (const each of metafile.outputs[path].imports)
      if (each.kind === 'import-statement' && !known.has(each.path)) importsOf(each.path, known.add(each.path));
    return known;
  };
  const [script] = outputs.map(([path]) => path).filter((path) => `/${basename(path)}` === names.SCRIPT);
  const ofAll = importsOf(script);
  // The browser would otherwise ask for them after it has read the script.
  const imported = [...ofAll].map((path) => `    <link rel="modulepreload" href="/${basename(path)}" />\n`);
  const scripts = modules.map(([address, module]) => {
    const [path] = outputs.find(([, { entryPoint }]) => entryPoint === module) ?? [];
    if (path === undefined) throw new Error(`The bundle has no script of ${module}.`);
    const pattern = `^(/o/[^/]+)?${address.replace(/:\w+/, '[^/]+').replace(/^\/$/, '')}/?$`;
    return [pattern, [path, ...importsOf(path)].filter((each) => !ofAll.has(each)).map((each) => `/${basename(each)}`)];
  });
  await writeFile(join(target, 'page-scripts.json'), JSON.stringify(scripts));
  await writeFile(
    join(target, 'index.html'),
    page
      .replaceAll(/"(FONT|STYLE|SCRIPT)"/g, (_, name) => `"${names[name]}"`)
      .replace('  </head>', `${imported.join('')}  </head>`),
  );
}

/** The addresses of the pages and their modules, in the order of the table of pages. */
async function pageModules() {
  const table = await readFile(join(source, 'pages.tsx'), 'utf8');
  const found = [...table.matchAll(/address: '([^']+)'[^;]*?import\('\.\/([^']+)\.js'\)/g)];
  if (found.length !== [...table.matchAll(/import\('/g)].length)
    throw new Error('A page has no address before its import.');
  return found.map(([, address, module]) => [address, `api/console/app/${module}.tsx`]);
}

/**
 * Puts what most pages share into one script. The bundler would make a script of each set of pages, some twenty that a
 * browser asks for one after another.
 */
function onePart(modules) {
  const shared = ['parts', 'server'].map((folder) => join(source, folder));
  const pages = new Set([...modules, 'api/console/app/main.tsx'].map((module) => join(root, module)));
  return {
    name: 'one-part',
    setup({ onResolve, onLoad }) {
      onResolve({ filter: /^shared-parts$/ }, ({ path }) => ({ path, namespace: 'shared', sideEffects: true }));
      onLoad({ filter: /./, namespace: 'shared' }, async () => {
        const files = await Promise.all(shared.map((folder) => readdir(folder, { recursive: true })));
        const paths = files.flatMap((names, index) => names.map((name) => join(shared[index], name)));
        const imports = paths.filter((path) => /\.tsx?$/.test(path)).map((path) => `import ${JSON.stringify(path)};`);
        return { contents: imports.join('\n'), resolveDir: source };
      });
      onLoad({ filter: /\.tsx$/ }, async ({ path }) => {
        if (!pages.has(path)) return undefined;
        return { contents: `import 'shared-parts';\n${await readFile(path, 'utf8')}`, loader: 'tsx' };
      });
    },
  };
}
