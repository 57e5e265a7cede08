import { mkdir, mkdtemp, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { consoleDocument } from '../../../api/console/openapi.js';
import { methods } from '../../../api/openapi/openapi-types.js';
import { actionRoutes } from '../../../shared/admin/actions.js';
import { childEnvironment } from '../../../shared/config/config.js';
import { projectFile } from '../../../shared/process/project-root.js';
import { npmTools } from '../../support/clients/npm-tools.js';
import { httpCall } from '../../support/http/http-call.js';
import { demoBundleWith } from '../../support/http/tool-fixture.js';
import { notInstalled } from '../../support/leave-out.js';
import { markdownBlocks } from '../../support/markdown-blocks.js';
import { pythonVenv } from '../../support/python-venv.js';
import { type ProgramEnd, runCommands, runProgram } from '../../support/run-program.js';
import { type RunningService, runningService, startTimeoutMs } from '../../support/service/service.js';
import { type TestWorkspace, workspace } from '../../support/service/workspace.js';
import { storedUpload } from '../jobs/job-calls.js';

const installLimitMs = 180_000;
const runLimitMs = 60_000;
/** The public documents. */
const names = ['openapi.json', 'openapi-3.0.json', 'console.json'] as const;
const compileStrictly = [
  ...['--strict', '--skipDefaultLibCheck', '--module', 'nodenext', '--target', 'es2022', '--lib', 'es2023,dom'],
  ...['--types', 'node', '--typeRoots', projectFile('node_modules/@types')],
];
const scored = /^LEAD-1 \d+\n$/;

describe('tools of others on the OpenAPI documents', () => {
  let service: RunningService;
  let own: TestWorkspace;
  let directory: string;

  before(async function () {
    this.timeout(startTimeoutMs);
    service = await runningService();
    own = await workspace(service, { bundle: await demoBundleWith({}) });
    directory = await mkdtemp(join(tmpdir(), 'leadscore-clients-'));
    for (const name of names.slice(0, 2)) {
      const { text } = await httpCall(`${service.url()}/${name}`, { method: 'GET' });
      await writeFile(join(directory, name), text);
    }
    const document = consoleDocument(actionRoutes, 'https://console.example.net');
    await writeFile(join(directory, 'console.json'), JSON.stringify(document));
  });
  after(() => directory && rm(directory, { recursive: true, force: true }));

  /** The block of docs/clients.md in a language. */
  async function shown(language: string): Promise<string> {
    const blocks = markdownBlocks(await readFile(projectFile('docs/clients.md'), 'utf8'));
    const block = blocks.find((one) => one.language === language);
    if (block === undefined) throw new Error(`docs/clients.md has no block in ${language}`);
    return block.text;
  }

  /** The environment that docs/clients.md names. */
  const variables = () => ({
    LEADSCORE_URL: service.url(),
    LEADSCORE_KEY: own.live.secret,
    LEADSCORE_MODEL: own.model._id,
  });

  /** Runs a program in the folder of the documents, with that environment. */
  const run = (program: string, commandLine: readonly string[], environment = {}): Promise<ProgramEnd> =>
    runProgram(program, commandLine, {
      directory,
      environment: { ...variables(), ...environment },
      limitMs: runLimitMs,
    });

  async function succeed(program: string, commandLine: readonly string[], environment = {}): Promise<string> {
    const { exitCode, output } = await run(program, commandLine, environment);
    expect(exitCode, `${program} ${commandLine.join(' ')}\n${output}`).to.equal(0);
    return output;
  }

  describe('from npm', () => {
    let program: (name: string) => string;

    before(async function () {
      this.timeout(installLimitMs + 10_000);
      const tools = await npmTools(installLimitMs);
      if ('reason' in tools) notInstalled(this, tools);
      program = tools.program;
      await symlink(join(tools.directory, 'node_modules'), join(directory, 'node_modules'));
      await writeFile(join(directory, 'package.json'), '{"type":"module"}');
      await writeFile(join(directory, 'first.ts'), await shown('ts'));
    });

    for (const name of names.slice(0, 2)) {
      it(`openapi-typescript makes types of ${name} with which the program of docs/clients.md compiles and scores`, async function () {
        this.timeout(2 * runLimitMs);
        await succeed(program('openapi-typescript'), [name, '-o', 'leadscore.d.ts']);
        await succeed(program('tsc'), [...compileStrictly, 'first.ts']);
        expect(await succeed('node', ['first.js'])).to.match(scored);
      });
    }

    /** Runs the commands under a heading of docs/clients.md in a folder, with its program saved as the text says. */
    async function paste(heading: string, folder: string): Promise<string> {
      const markdown = await readFile(projectFile('docs/clients.md'), 'utf8');
      const section = markdown.slice(markdown.indexOf(`## ${heading}\n`));
      const [, name = ''] = /Save this program .* as `(\w+\.\w+)`:/.exec(section) ?? [];
      const pasted = markdownBlocks(section)
        .filter((block) => block.heading === heading)
        .map(({ language, text }) => (language === 'sh' ? text : `cat > ${name} <<'PROGRAM'\n${text}PROGRAM\n`));
      const { exitCode, output } = await runCommands(pasted.join('\n'), {
        directory: folder,
        environment: { ...variables(), npm_config_prefer_offline: 'true' },
        limitMs: installLimitMs,
      });
      expect(exitCode, output).to.equal(0);
      return output;
    }

    const emptyFolder = (): Promise<string> => mkdtemp(join(tmpdir(), 'leadscore-paste-'));

    it('scores by copy and paste of the commands and the program of docs/clients.md, in an empty folder', async function () {
      this.timeout(installLimitMs + runLimitMs);
      const empty = await emptyFolder();
      try {
        expect(await paste('TypeScript', empty)).to.match(/^LEAD-1 \d+$/m);
      } finally {
        await rm(empty, { recursive: true, force: true });
      }
    });

    it('uploads a file by copy and paste of the commands and the program of docs/clients.md', async function () {
      this.timeout(installLimitMs + runLimitMs);
      const folder = await emptyFolder();
      try {
        const file = 'Lead ID,Lead Source\n00Q1,Referral\n';
        await writeFile(join(folder, 'leads.csv'), file);
        const [, jobId = ''] = /^(job_\w+)$/m.exec(await paste('Uploads with tus', folder)) ?? [];
        expect((await storedUpload(service, jobId)).toString()).to.equal(file);
      } finally {
        await rm(folder, { recursive: true, force: true });
      }
    });

    it('openapi-typescript makes types of the document of the console that compile', async function () {
      this.timeout(2 * runLimitMs);
      await succeed(program('openapi-typescript'), ['console.json', '-o', 'console.d.ts']);
      await succeed(program('tsc'), [...compileStrictly, 'console.d.ts']);
    });

    for (const name of names) {
      it(`redocly and spectral find no error in ${name}`, async function () {
        this.timeout(2 * runLimitMs);
        const [redocly, spectral] = ['redocly', 'spectral'].map((one) =>
          projectFile(`test/support/clients/${one}.yaml`),
        );
        await Promise.all([
          succeed(program('redocly'), ['lint', name, `--config=${redocly}`], {
            REDOCLY_TELEMETRY: 'off',
            REDOCLY_SUPPRESS_UPDATE_NOTICE: 'true',
          }),
          succeed(program('spectral'), ['lint', name, `--ruleset=${spectral}`, '--fail-severity=error']),
        ]);
      });
    }
  });

  describe('from PyPI', () => {
    let program: (name: string) => string;

    before(async function () {
      this.timeout(installLimitMs + 10_000);
      const venv = await pythonVenv({
        name: 'clients',
        requirementsFile: 'test/support/clients/requirements.txt',
        minMinor: 10,
        installLimitMs,
      });
      if ('reason' in venv) notInstalled(this, venv);
      program = venv.program;
      await writeFile(join(directory, 'clients.yaml'), await shown('yaml'));
      await writeFile(join(directory, 'first.py'), await shown('python'));
    });

    for (const name of names) {
      it(`openapi-python-client makes a package of ${name} without a warning, with all operations and bodies`, async function () {
        this.timeout(2 * runLimitMs);
        const folder = join(directory, 'leadscore');
        const generate = ['generate', '--path', name, '--config', 'clients.yaml', '--meta', 'none', '--overwrite'];
        await rm(folder, { recursive: true, force: true });
        await mkdir(folder);
        // The generator formats what it writes with ruff, from its own environment.
        const path = `${join(program('ruff'), '..')}:${childEnvironment({}).PATH}`;
        const output = await succeed(program('openapi-python-client'), [...generate, '--output-path', folder], {
          PATH: path,
        });
        expect(output.trim()).to.match(/^Generating \S+$/);
        const { withBody, all } = await operationsOf(join(directory, name));
        const sources = await moduleTexts(join(folder, 'api'));
        expect(sources).to.have.length(all);
        expect(sources.filter((source) => /\bbody: /.test(source))).to.have.length(withBody);
        if (name !== 'console.json') expect(await succeed(program('python'), ['first.py'])).to.match(scored);
      });
    }
  });
});

/** The number of operations of a document, and of those with a body. */
async function operationsOf(file: string): Promise<{ readonly all: number; readonly withBody: number }> {
  const { paths } = JSON.parse(await readFile(file, 'utf8')) as {
    readonly paths: Readonly<Record<string, Readonly<Record<string, { readonly requestBody?: object }>>>>;
  };
  const operations = Object.values(paths).flatMap((item) => methods.flatMap((method) => item[method] ?? []));
  return { all: operations.length, withBody: operations.filter(({ requestBody }) => requestBody).length };
}

/** The sources of a generated package's endpoints, one for each operation. */
async function moduleTexts(folder: string): Promise<string[]> {
  const files = (await readdir(folder, { recursive: true })).filter(
    (file) => file.endsWith('.py') && !file.endsWith('__init__.py'),
  );
  return Promise.all(files.map((file) => readFile(join(folder, file), 'utf8')));
}
