import { renderFields } from '../../terminal/table.js';
import type { DemoDirectory } from './demo-directory.js';
import type { Screen } from './screen.js';
import type { TourResult } from './tour-result.js';

/** Where the CLI looks for the service unless told otherwise. */
const usualUrl = 'http://127.0.0.1:8080';

/** Says what the reader can do after the tour, and where to read on. */
export function showNextSteps(screen: Screen): void {
  screen.heading('Now you');
  const steps = renderFields([
    [
      'npm run demo -- --keep',
      'the same, and it stays up: paste the call that it\nshows into another terminal',
    ],
    ['npm start', 'the service alone; its data stays'],
    ['npx leadscore --help', 'organisations, keys, models; scoring your own files'],
  ]);
  screen.block(`${steps}\n`);
  showReading(screen);
}

/** Says what the reader can do while the service is up. */
export function showWhatIsUp(
  screen: Screen,
  { result, directory }: { readonly result: TourResult; readonly directory: DemoDirectory },
): void {
  const { service, workspace } = result;
  const { url } = service;
  const { model, apiKey, organisation } = workspace;
  screen.heading(`It is up, on ${url}`);
  screen.paragraph('Paste the call above into another terminal; or, from this folder, one of these:');
  const where = url === usualUrl ? '' : ` --url ${url}`;
  screen.print(`
npx leadscore score ${directory.shown('leads')}${where} \\
  --model ${model._id} --key ${apiKey}

npx leadscore usage show ${organisation._id}

npx leadscore model show ${model._id}
`);
  const places = renderFields([
    ['Logs', `${directory.shown('gatewayLog')}, ${directory.shown('workersLog')}`],
    ['Files', `${directory.shown('leads')}, ${directory.shown('scored')}`],
    ['Reference', `${url}/docs`],
  ]);
  screen.block(`${places}\n`);
  showReading(screen);
}

function showReading(screen: Screen): void {
  screen.print('Read on in README.md: what it is, and how to run it; and in docs/: how it works,');
  screen.print('how usage is counted, models of your own, operating it.');
}
