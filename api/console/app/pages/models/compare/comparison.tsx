import type { ComponentChildren } from 'preact';
import { liftText, rateTexts } from '../../../../../../shared/contract/figures.js';
import { bandScores } from '../../../../../../shared/contract/verdict.js';
import { type Contribution, strengthOf } from '../../../charts/contributions.js';
import { ScoreWeeks } from '../../../charts/score-weeks.js';
import { countText, instantText, percentText } from '../../../parts/formats.js';
import { Meaning } from '../../../parts/meaning.js';
import { Card } from '../../../parts/page.js';
import { useSome } from '../../../parts/some.js';
import { Table } from '../../../parts/table.js';
import { gateTitles, summaryText, VerdictBadge } from '../../../parts/verdict.js';
import { GateState, liftFigures, type Report, totalsOf } from '../gates.js';
import type { Model } from '../model-props.js';
import { Stability } from '../terms.js';
import { differingFields } from './differing-fields.js';

type Pair = readonly [Report, Report];
type Cell = (report: Report) => ComponentChildren;
type Row = readonly [name: string, of: Cell];
type Grade = NonNullable<Report['grade']>;

/** The evidence and the facts of two versions side by side. A missing figure says why it is missing. */
export function Comparison({ model, of: pair }: { readonly model: Model; readonly of: Pair }) {
  return (
    <>
      <div class="stack pair">
        <FactsCard model={model} of={pair} />
        <FieldsCard of={pair} />
        <GatesCard of={pair} />
        <RatesCard of={pair} />
        <CalibrationCard of={pair} />
        <ContributionsCard of={pair} />
      </div>
      <div class="columns even">
        {pair.map((report) => (
          <Card key={report.version} title={`Scores over time, version ${report.version}`} about="By week.">
            {report.days.length === 0 ? (
              <p class="soft">No score of a live key is summed up yet. The nightly grade sums them up.</p>
            ) : (
              <ScoreWeeks days={report.days} />
            )}
          </Card>
        ))}
      </div>
    </>
  );
}

const columnsOf = (first: string, [one, other]: Pair): readonly string[] => [
  first,
  `Version ${one.version}`,
  `Version ${other.version}`,
];

/** A table with a column for each version. */
function PairTable(props: {
  readonly label: string;
  /** The heading of the first column. */
  readonly first: string;
  readonly of: Pair;
  readonly rows: readonly Row[];
  /** Whether rows with the same text for both versions are folded away. */
  readonly foldsEqual?: boolean;
}) {
  const { label, foldsEqual = false } = props;
  const [one, other] = props.of;
  const columns = columnsOf(props.first, props.of);
  const rows = props.rows.map(([name, cell]) => [<strong key="name">{name}</strong>, cell(one), cell(other)] as const);
  const isEqual = ([, left, right]: (typeof rows)[number]) => foldsEqual && typeof left === 'string' && left === right;
  const [differing, equal] = [rows.filter((row) => !isEqual(row)), rows.filter(isEqual)];
  return (
    <>
      {differing.length > 0 && <Table label={label} columns={columns} rows={differing} />}
      {equal.length > 0 && (
        <details>
          <summary>
            {equal.length === 1 ? '1 row is' : `${countText(equal.length)} rows are`} the same in both versions
          </summary>
          <Table label={`${label}, the same in both`} columns={columns} rows={equal} />
        </details>
      )}
    </>
  );
}

/** Why a version has no figures of a grade. */
function whyNoGrade({ validation: { state } }: Report): string {
  if (state === 'not_applicable') return 'not graded: a timing model';
  return state === 'unresolved' ? 'not known: the verdict could not be read' : 'not graded yet';
}

/** A cell with figures of a grade. */
const ofGrade =
  (cellOf: (grade: Grade) => ComponentChildren): Cell =>
  (report) =>
    report.grade ? cellOf(report.grade) : whyNoGrade(report);

const inBundle = 'not in the bundle';

function FactsCard({ model, of }: { readonly model: Model; readonly of: Pair }) {
  const importOf = ({ version }: Report) => model.versions.find((each) => each.version === version)?.imported_at;
  const rows: readonly Row[] = [
    [
      'Verdict',
      ({ version, validation }) => (
        <>
          <VerdictBadge state={validation.state} /> {version === model.version && <span class="badge on">scores</span>}
          <p class="small soft">{summaryText(validation.summary)}</p>
        </>
      ),
    ],
    ['Imported', (report) => instantText(importOf(report))],
    ['Trained', ({ trained_at: at }) => (at === null ? inBundle : instantText(at))],
    ['Fields', ({ fields }) => countText(fields.length)],
    ['Input columns', ({ width }) => (width === null ? inBundle : countText(width))],
    ['Converted in training', ({ base_rate: rate }) => (rate === null ? inBundle : percentText(rate))],
    ['Graded', ofGrade((grade) => instantText(grade.graded_at))],
    ['Graded leads', ofGrade((grade) => countText(totalsOf(grade).records))],
    ['Conversions', ofGrade((grade) => countText(totalsOf(grade).conversions))],
    ['The best scores convert', liftOf],
    ['Scores over time', ({ stability }) => (stability === null ? 'too few scores' : <Stability of={stability} />)],
  ];
  return (
    <Card title="At a glance" about="Each version by its own bundle, leads and grade.">
      <PairTable foldsEqual label="Facts and grades" first="Figure" of={of} rows={rows} />
    </Card>
  );
}

function liftOf(report: Report): string {
  const { lift, lower_bound: bound } = liftFigures(report);
  if (lift === undefined) return report.grade ? 'gate not reached yet' : whyNoGrade(report);
  return `${liftText(lift)} as often as all leads${bound === undefined ? '' : `, at least ${liftText(bound)}`}`;
}

function FieldsCard({ of }: { readonly of: Pair }) {
  const { differing, same } = differingFields(of[0].fields, of[1].fields);
  const { shown, more } = useSome(differing, { words: 'fields' });
  return (
    <Card
      title="Fields that differ"
      about={`By label, type, order of dates and number of values. ${countText(same)} fields are the same in both.`}
    >
      {differing.length === 0 ? (
        <p class="soft">{same === 0 ? 'The fields of these versions are not known.' : 'No field differs.'}</p>
      ) : (
        <Table
          label="Fields that differ"
          columns={columnsOf('Field', of)}
          rows={shown.map(({ field, one, other }) => [<code key="field">{field}</code>, one, other])}
        />
      )}
      {more}
    </Card>
  );
}

function GatesCard({ of }: { readonly of: Pair }) {
  const rows = Object.entries(gateTitles).map(([name, title]): Row => {
    const cellOf = (report: Report) => {
      const gate = report.gates.find((each) => each.gate === name);
      return gate && report.grade ? <GateState of={gate} /> : whyNoGrade(report);
    };
    return [title, cellOf];
  });
  return (
    <Card title="Validation" about="The six gates, in this order.">
      <PairTable foldsEqual label="Gates" first="Gate" of={of} rows={rows} />
    </Card>
  );
}

/** One precision for both versions, so that their shares can be compared. Bands without records have no share. */
function rateTextsOf(
  of: Pair,
  bandsOf: (grade: Grade) => readonly { readonly records: number; readonly high: number }[],
) {
  const bands = of.flatMap(({ grade }) => (grade ? bandsOf(grade) : []));
  return rateTexts(Math.max(0, ...bands.map(({ records, high }) => (records > 0 ? high : 0))));
}

function RatesCard({ of }: { readonly of: Pair }) {
  const rateOf = rateTextsOf(of, ({ bands }) => bands);
  const rows = bandScores.toReversed().map((scores): Row => {
    const cellOf = ofGrade(({ bands }) => {
      const band = bands.find((each) => each.scores === scores);
      if (band === undefined || band.records === 0) return 'no graded lead';
      return (
        <>
          {rateOf(band.rate)} %
          <p class="small soft">
            {countText(band.conversions)} of {countText(band.records)}; {rateOf(band.low)} to {rateOf(band.high)} %
          </p>
        </>
      );
    });
    return [scores, cellOf];
  });
  return (
    <Card
      title="Conversion by score"
      about={
        <Meaning term="The ranges are 95 % Wilson intervals.">
          Rates of each version's graded leads. The range shows how far chance may move a rate.
        </Meaning>
      }
    >
      <PairTable label="Conversion by score" first="Scores" of={of} rows={rows} />
    </Card>
  );
}

function CalibrationCard({ of }: { readonly of: Pair }) {
  const rateOf = rateTextsOf(of, ({ calibration }) => calibration);
  const percentOf = (share: number | null) => (share === null ? '–' : `${rateOf(share)} %`);
  const rows = bandScores.toReversed().map((scores): Row => {
    const cellOf = ofGrade(({ calibration }) => {
      const point = calibration.find((each) => each.scores === scores);
      if (!point || (point.promised === null && point.converted === null)) return 'no graded lead';
      return `${percentOf(point.promised)} promised, ${percentOf(point.converted)} converted`;
    });
    return [scores, cellOf];
  });
  return (
    <Card
      title="Promised and converted"
      about={<Meaning term="Calibration by score band.">A model is right where both shares are the same.</Meaning>}
    >
      <PairTable label="Calibration by score" first="Scores" of={of} rows={rows} />
    </Card>
  );
}

function ContributionsCard({ of }: { readonly of: Pair }) {
  const byField = of.map(({ contributions }) => new Map(contributions?.map((each) => [each.field, each])));
  const movesOf = (field: string) => byField.flatMap((known) => known.get(field) ?? []);
  const strongest = (field: string) => Math.max(...movesOf(field).map(strengthOf));
  const fields = [...new Set(byField.flatMap((known) => [...known.keys()]))].sort(
    (one, other) => strongest(other) - strongest(one),
  );
  const { shown, more } = useSome(fields, { words: 'fields' });
  const rows = shown.map((field): Row => {
    return [movesOf(field)[0]?.label ?? field, (report) => moveOf(report, byField[of.indexOf(report)]?.get(field))];
  });
  const methods = [...new Set(of.map(({ explain_method: method }) => method))].join(' and ');
  return (
    <Card
      title="How fields move the scores"
      about={
        <Meaning
          term={`Mean contribution to the golden records of each version, in log-odds, by the method ${methods}.`}
        >
          Over sample leads of each author. Larger figures move scores further.
        </Meaning>
      }
    >
      {rows.length === 0 ? (
        <p class="soft">Not known: neither import computed contributions.</p>
      ) : (
        <PairTable foldsEqual label="Contributions" first="Field" of={of} rows={rows} />
      )}
      {more}
    </Card>
  );
}

function moveOf({ contributions }: Report, move: Contribution | undefined): string {
  if (contributions === null) return 'not computed at the import';
  if (move === undefined) return 'not a field of this version';
  return `raises ${move.raises.toFixed(3)}, lowers ${Math.abs(move.lowers).toFixed(3)}`;
}
