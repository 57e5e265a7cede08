import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { text } from 'node:stream/consumers';
import { expect } from 'chai';
import { childEnvironment } from '../../../shared/config/config.js';
import { projectFile } from '../../../shared/process/project-root.js';
import { demoBundleWith } from '../../support/http/tool-fixture.js';
import { leaveOut } from '../../support/leave-out.js';
import { blocksWithResult, jsonForm, type MarkdownBlock, markdownBlocks } from '../../support/markdown-blocks.js';
import { bashOptions } from '../../support/run-program.js';
import { type RunningService, runningService, startTimeoutMs } from '../../support/service/service.js';
import { type TestWorkspace, workspace } from '../../support/service/workspace.js';

/** The program that runs each language's snippets from standard input. */
const runners: Readonly<Record<string, readonly [string, ...string[]]>> = {
  bash: ['bash', ...bashOptions],
  python: ['python3', '-'],
  js: ['node', '--input-type=module'],
};

const programs: Readonly<Record<string, string>> = { bash: 'curl', python: 'python3', js: 'node' };

interface Ended {
  readonly exitCode: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

describe('docs/quickstart.md', () => {
  let service: RunningService;
  let own: TestWorkspace;
  const markdown = readFileSync(projectFile('docs/quickstart.md'), 'utf8');

  before(async function () {
    this.timeout(startTimeoutMs);
    service = await runningService();
  });
  beforeEach(async () => {
    own = await workspace(service, { bundle: await demoBundleWith({}) });
  });

  /** Runs a snippet with the page's three environment variables set. */
  async function run({ language, text: snippet }: MarkdownBlock, secret: string): Promise<Ended> {
    const [program, ...args] = runners[language] ?? ['false'];
    const variables = {
      LEADSCORE_URL: service.url(),
      LEADSCORE_KEY: secret,
      LEADSCORE_MODEL: own.model._id,
    };
    const child = spawn(program, args, { env: childEnvironment(variables) });
    child.stdin.end(snippet);
    const ended = new Promise<number | null>((resolve, reject) => {
      child.once('close', resolve).once('error', reject);
    });
    const [exitCode, stdout, stderr] = await Promise.all([ended, text(child.stdout), text(child.stderr)]);
    return { exitCode, stdout, stderr };
  }

  for (const { block, result } of blocksWithResult(markdown, Object.keys(runners))) {
    it(`prints what the page shows for the ${block.language} of "${block.heading}" (line ${block.line})`, async function () {
      const program = programs[block.language] ?? '';
      if (!(await isInstalled(program))) leaveOut(this, `this machine has no ${program}`, `install ${program}`);
      // A low rate, so that the snippets with retries have to retry.
      const { secret } = await own.addKey('live', { rate: 2 });
      const { exitCode, stdout, stderr } = await run(block, secret);
      expect(stderr).to.equal('');
      expect(exitCode).to.equal(0);
      if (result.language === 'json') {
        expect(jsonForm(JSON.parse(stdout))).to.deep.equal(jsonForm(JSON.parse(result.text)));
      } else {
        expect(withoutNumbers(stdout)).to.equal(withoutNumbers(result.text));
      }
    });
  }

  it('has only blocks that run here, and their results', () => {
    const known = blocksWithResult(markdown, Object.keys(runners)).flatMap(({ block, result }) => [block, result]);
    expect(markdownBlocks(markdown)).to.deep.equal(known);
  });

  it('has snippets in curl, Python and Node under each heading of docs/quickstart.md', () => {
    const languages = new Map<string, string>();
    for (const { block } of blocksWithResult(markdown, Object.keys(runners)))
      languages.set(block.heading, `${languages.get(block.heading) ?? ''} ${block.language}`);
    expect(Object.fromEntries(languages)).to.deep.equal({
      'Score a batch': ' bash python js',
      'Score one record, as a webhook': ' bash python js',
      'Read the usage': ' bash python js',
      'Errors and retries': ' python js',
    });
  });
});

/** Replaces numbers by N, because scores and usage vary. Ids such as LEAD-1 keep theirs: the caller chose them. */
const withoutNumbers = (output: string): string => output.replaceAll(/(?<![-\w])\d+(\.\d+)?/g, 'N');

async function isInstalled(program: string): Promise<boolean> {
  return await new Promise((resolve) => {
    spawn(program, ['--version'], { stdio: 'ignore' })
      .once('error', () => resolve(false))
      .once('exit', (exitCode) => resolve(exitCode === 0));
  });
}
