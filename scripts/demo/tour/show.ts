import type { ReplyUsage, ScoreRow } from '../../cli/calls/api-reply.js';
import { bar, gauge, type HistogramBin, renderHistogram } from '../../cli/output/charts.js';
import { inputTable } from '../../cli/output/input-table.js';
import { countText, readableDuration } from '../../cli/output/readable-numbers.js';
import { type Columns, renderFields, tableOf } from '../../cli/output/table.js';
import { wrapJson } from '../../cli/output/wrap-text.js';
import { pastColumns } from '../../leads/past-leads.js';
import type { DemoService } from './demo-service.js';
import type { Workspace } from './demo-workspace.js';
import type { Movement, Ranking, ScoredLead } from './figures.js';
import { type PartnerFile, renamed, unknownIndustry } from './partner-file.js';
import type { ScoreCall, ScoredPass } from './score-calls.js';
import type { Screen } from './screen.js';

const tableWidth = { width: 78 };

/** The members of an answer that are shown apart. */
export type ScoreReply = Readonly<Record<string, unknown>> & {
  readonly scores: readonly ScoreRow[];
  readonly usage: ReplyUsage;
};

export function pass(screen: Screen, { summary }: ScoredPass): void {
  const { records, calls, seconds, records_per_second: rate } = summary;
  screen.paragraph(
    `${countText(records)} records in ${countText(calls)} HTTP ${calls === 1 ? 'call' : 'calls'} and ` +
      `${readableDuration(1000 * seconds)}: ${countText(rate)} a second on this machine.`,
  );
}

/** @param leads.reasons answers for the best and the worst leads, with reasons */
export function bestAndWorst(
  screen: Screen,
  leads: Readonly<Record<'best' | 'worst', readonly ScoredLead[]>> & {
    readonly reasons: readonly ScoreRow[];
  },
): void {
  const { best, worst } = leads;
  const reasons = new Map(leads.reasons.map((row) => [row.crm_id, row.top_reason_1]));
  // Values of a CRM may hold line breaks.
  const reasonOf = ({ row }: ScoredLead): string => (reasons.get(row.crm_id) ?? '-').replace(/\s+/g, ' ').trim();
  const isAll = worst.length === 0;
  screen.heading(isAll ? 'The leads, best first' : `The ${best.length} best leads, and the last ${worst.length}`);
  const columns: Columns<ScoredLead | undefined> = [
    ['Lead', (lead) => (lead === undefined ? '…' : (lead.row.crm_id ?? '')), 'whole'],
    ['Score', (lead) => String(lead?.row.score ?? ''), 'right'],
    ['Likelihood', (lead) => lead?.row.conversion_likelihood.toFixed(4) ?? '', 'right'],
    ['Main reason', (lead) => (lead === undefined ? '' : reasonOf(lead))],
  ];
  const leftOut = isAll ? [] : [undefined];
  screen.block(tableOf([...best, ...leftOut, ...worst], columns, tableWidth));
  screen.note(
    'A separate call asked for the reasons, with "explain": true and only the crm_ids: Leadscore remembers the ' +
      'fields.',
  );
}

export function scores(screen: Screen, rows: readonly ScoreRow[], bins: readonly HistogramBin[]): void {
  screen.heading('All scores');
  screen.block(renderHistogram(bins, tableWidth));
  screen.note(
    'A score is a rank: 90 means better than 90 % of the leads that the model was trained on, so each row holds ' +
      'about as many leads. The likelihood is the probability that the lead converts.',
  );
  const warned = rows.filter((row) => (row.warnings ?? []).length > 0);
  const example = warned[0]?.warnings?.[0];
  if (example !== undefined)
    screen.note(`${countText(warned.length)} of the answers carry a warning, such as "${example}".`);
}

/** Shows how many leads of each score band convert, as bars. */
export function ranking(screen: Screen, { leads, converted, bands, auc }: Ranking): void {
  screen.heading('Do high scores find the leads that convert?');
  const highest = Math.max(...bands.map((band) => band.rate ?? 0), Number.EPSILON);
  const lines = bands.map(({ label, leads: inBand, rate }) => {
    const drawn = screen.styled('cyan', bar((rate ?? 0) / highest, 40).padEnd(40));
    const share = (rate === null ? '-' : percent(rate)).padStart(7);
    return `score ${label.padStart(6)}  ${drawn} ${share} of ${countText(inBand)}`;
  });
  screen.block(`${lines.reverse().join('\n')}\n`);
  const average = converted / Math.max(1, leads);
  const top = bands.at(-1)?.rate ?? null;
  if (top !== null && average > 0)
    screen.paragraph(
      `In the top band ${percent(top)} convert, of all leads ${percent(average)}: ${(top / average).toFixed(1)} times as many.`,
    );
  if (auc !== null)
    screen.paragraph(
      `A lead that converts scores higher than one that does not in ${percent(auc)} of all pairs (AUC ${auc.toFixed(3)}).`,
    );
  screen.paragraph(
    'All data is synthetic: the generator drew which leads convert. The model has not seen these leads; it was ' +
      'trained on others from the same generator.',
  );
}

const percent = (share: number): string => `${(100 * share).toFixed(1)} %`;

/** Shows an example of a second call, and the leads whose score moved most. */
export function movement(screen: Screen, { summary }: ScoredPass, { up, down, same, biggest }: Movement): void {
  const [known, rose, fell, stayed] = [summary.enriched, up, down, same].map(countText);
  screen.paragraph(`${known} were known and come back enriched: ${rose} went up, ${fell} down, ${stayed} stayed.`);
  const [example] = biggest;
  if (example === undefined) return;
  screen.note(
    'A known lead needs only its crm_id and the new values. A lead without news is sent as its crm_id alone.',
  );
  const answered = JSON.stringify({ ...example.row, row: undefined }); // `row` is the line of the file
  screen.print(`\n${wrapJson(JSON.stringify(example.change.record), { label: '  sent      ' })}`);
  screen.print(`${wrapJson(answered, { label: '  answered  ' })}\n`);
  const columns: Columns<(typeof biggest)[number]> = [
    ['Company', ({ lead }) => String(lead.record.Company ?? '-')],
    ['What happened', ({ change }) => change.what ?? 'nothing'],
    ['Before', ({ row }) => String(row.previous_score ?? '-'), 'right'],
    ['Now', ({ row }) => String(row.score), 'right'],
    ['Delta', ({ delta }) => (delta > 0 ? `+${delta}` : String(delta)), 'right'],
  ];
  const coloured = (delta: string): string => screen.styled(delta.startsWith('+') ? 'green' : 'red', delta);
  screen.block(tableOf(biggest, columns, tableWidth).replace(/[+-]\d+$/gm, coloured));
}

/** Shows what the command line says of a file that does not fit the model, and the effect of the correction. */
export function partnerFile(screen: Screen, { unknown, input, corrected }: PartnerFile): void {
  const leads = countText(corrected.length);
  screen.heading('A partner sends a file that does not fit the model');
  screen.paragraph(
    `Its column "${renamed.column}" is named "${renamed.as}", and ${countText(unknown)} of its ${leads} leads are in ${unknownIndustry}. All get a ` +
      'score. "npx leadscore score" ends with what the model did not understand:',
  );
  screen.print();
  if (input !== undefined) screen.block(inputTable(input, tableWidth));
  screen.note(
    "Rename the column, or add its name as an alias in the model's bundle. Replace the value by an industry that the " +
      'model knows, or train a version with it. "npx leadscore model show" lists the fields.',
  );
  const changes = corrected.map(({ crm_id: id = '', score, delta = 0 }) => ({
    id,
    before: score - delta,
    score,
    delta,
  }));
  const [largest] = changes.toSorted((one, other) => Math.abs(other.delta) - Math.abs(one.delta));
  const changed = countText(changes.filter(({ delta }) => delta !== 0).length);
  const example = largest === undefined ? '' : `: ${largest.id} from ${largest.before} to ${largest.score}`;
  screen.paragraph(`\nWith both corrected, ${changed} of the ${leads} scores change${example}.`);
}

export function usage(screen: Screen, { current, limit, remaining, backstop }: ReplyUsage): void {
  const drawn = screen.styled('cyan', gauge(current / Math.max(1, limit), 40));
  screen.heading('Usage this month');
  screen.print(`  ${drawn}  ${countText(current)} of ${countText(limit)} records`);
  const left =
    remaining >= 0
      ? `${countText(remaining)} are left; a grace band follows`
      : `These are ${countText(-remaining)} into the grace band`;
  const stop = backstop === null ? '' : `. At ${countText(backstop)}, calls are refused until the month ends`;
  screen.note(`Each scored record counts one; a failed call counts nothing. ${left}${stop}.`);
}

export function call(screen: Screen, { curl }: ScoreCall, reply: ScoreReply): void {
  screen.heading('One of the best leads, in one call');
  screen.print(curl); // at the margin: a reader copies it without leading spaces
  screen.note('answers');
  const members = Object.entries(reply).map(([name, value]) => {
    const json = JSON.stringify(value, (key, inner: unknown) =>
      key === 'drivers' && Array.isArray(inner) ? [inner[0], `… ${inner.length} in all`] : inner,
    );
    return wrapJson(json, { label: `  ${JSON.stringify(name)}: `, indent: '    ' });
  });
  screen.print(`\n{\n${members.join(',\n')}\n}`);
}

export function nextSteps(screen: Screen): void {
  screen.heading('Now you');
  const steps = renderFields([
    ['npm run demo -- --keep', 'the same, but it keeps running: paste the call\nabove into another terminal'],
    ['npm start', 'the service alone; its data stays'],
    ['npx leadscore --help', 'organisations, keys, models; scoring your own files'],
  ]);
  screen.block(`${steps}\n`);
  screen.print(readOn);
}

export function runningService(
  screen: Screen,
  {
    url,
    link,
    workspace,
    service,
  }: {
    url: string;
    link: string | undefined;
    workspace: Workspace;
    service: DemoService;
  },
): void {
  const { model, apiKey, organisation } = workspace;
  const { files } = service;
  const urlOption = url === 'http://127.0.0.1:8080' ? '' : ` --url ${url}`; // the CLI's default
  screen.heading(`Leadscore is running on ${url}`);
  screen.paragraph('Paste the call above into another terminal, or run one of these from this folder:');
  screen.print(`
npx leadscore score ${service.shown(files.leads)}${urlOption} \\
  --model ${model._id} --key ${apiKey}

npx leadscore train ${service.shown(files.past_leads)} \\
  --converted ${pastColumns.won} --at "${pastColumns.asOf}" --org ${organisation._id}

npx leadscore usage show ${organisation._id}

npx leadscore model show ${model._id}

npx leadscore console login ${organisation._id} --name Ada --role owner
`);
  const listed = renderFields([
    ['Logs', `${service.shown(files.gateway_log)}, ${service.shown(files.workers_log)}`],
    ['Files', `${service.shown(files.leads)}, ${service.shown(files.past_leads)}`],
    ['Reference', `${url}/docs`],
  ]);
  screen.block(`${listed}\n`);
  if (link !== undefined) {
    screen.heading('The console');
    screen.print(`${link}\n`);
    screen.note('The link signs in once, within 15 minutes. The last command above makes a new one.');
  }
  screen.print(`${readOn}\n\n${screen.styled('bold', 'Ctrl-C stops it.')}`);
}

const readOn = `Read on in README.md (overview and installation) and in docs/ (architecture,
metering, your own models, operation).`;
