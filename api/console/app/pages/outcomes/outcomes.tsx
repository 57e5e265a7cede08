import { useEffect, useState } from 'preact/hooks';
import { countText } from '../../parts/formats.js';
import { Load, Page, Problem } from '../../parts/page.js';
import { call } from '../../server/call.js';
import { useOrganisation } from '../../server/session.js';
import { useLoad } from '../../server/use-load.js';
import { DaysCard } from './days-card.js';
import { FileCard } from './file-card.js';
import { GateMoves, type Outcomes, waitsForGrade } from './gate-moves.js';
import { ResultCard } from './result-card.js';
import {
  type Columns,
  type Counted,
  countValues,
  type FileStart,
  type Mark,
  type Reply,
  sendOutcomes,
} from './send-file.js';
import { ValuesCard } from './values-card.js';

/** The gates are read again so often, until each model is graded with the new outcomes. */
const pollMs = 10_000;

/** The work on a file that runs, in words. */
interface Work {
  readonly words: string;
  readonly share?: number;
}

/** Brings outcomes in a file: its columns, the meanings of its values, the result, and the gates before and after. */
export function OutcomesPage() {
  const { api, base } = useOrganisation();
  const path = `${api}/outcomes`;
  const outcomes = useLoad<Outcomes>(path);
  const [start, setStart] = useState<FileStart>();
  const [counted, setCounted] = useState<Counted>();
  const [work, setWork] = useState<Work>();
  const [problem, setProblem] = useState<Error>();
  const [sent, setSent] = useState<{ readonly reply: Reply; readonly before: Outcomes }>();
  useEffect(() => {
    if (sent === undefined || outcomes.data === undefined || !waitsForGrade(sent.before, outcomes.data)) return;
    const timer = setTimeout(outcomes.reload, pollMs);
    return () => clearTimeout(timer);
  }, [sent, outcomes.data, outcomes.reload]);

  const run = async (words: string, steps: () => Promise<void>) => {
    setProblem(undefined);
    setSent(undefined);
    setWork({ words });
    try {
      await steps();
    } catch (error) {
      setProblem(error as Error);
    } finally {
      setWork(undefined);
    }
  };
  const opened = (file: FileStart | undefined) => {
    setStart(file);
    setCounted(undefined);
    setSent(undefined);
    setProblem(undefined);
  };
  const count = (file: FileStart, columns: Columns) =>
    run('Counting', async () => {
      setCounted(undefined);
      const onProgress = (rows: number) => setWork({ words: `Counted ${countText(rows)} rows` });
      setCounted(await countValues(path, file, { columns, onProgress }));
    });
  const send = (file: FileStart, known: Counted, marks: ReadonlyMap<string, Mark>) =>
    run('Sending', async () => {
      const before = await call<Outcomes>('GET', path);
      const onProgress = ({ rows }: Reply) =>
        setWork({
          words: `Sent ${countText(rows)} of ${countText(known.rows)} rows`,
          share: rows / known.rows,
        });
      const reply = await sendOutcomes(path, file, { counted: known, marks, onProgress });
      setSent({ reply, before });
      outcomes.reload();
    });

  return (
    <Page title="Outcomes" about="Say which leads have converted. Models are graded by it.">
      <Load of={outcomes}>
        {(data) => (
          <>
            <FileCard
              start={start}
              isBusy={work !== undefined}
              opened={opened}
              choose={(columns) => start && count(start, columns)}
            />
            {start && counted && (
              <ValuesCard
                key={Object.values(counted.columns).join('\n')}
                counted={counted}
                known={data}
                isBusy={work !== undefined}
                send={(marks) => send(start, counted, marks)}
              />
            )}
            {work && (
              <div class="note" role="status">
                <p>{work.words}…</p>
                {work.share !== undefined && <progress aria-label="Sent rows" value={work.share} />}
              </div>
            )}
            {problem && <Problem problem={problem} />}
            {problem && counted && (
              <p class="note">Rows that are stored stay. Send the file again: it changes nothing of them.</p>
            )}
            {sent && <ResultCard reply={sent.reply} parts={counted?.parts.length ?? 1} />}
            <GateMoves before={sent?.before} now={data} />
            <DaysCard of={data} />
            {data.models.length === 0 && (
              <p class="note">
                No models yet. Outcomes count once a model has scored their leads. Import one on the page{' '}
                <a href={`${base}/models`}>Models</a>.
              </p>
            )}
          </>
        )}
      </Load>
    </Page>
  );
}
