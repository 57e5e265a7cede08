import { gapsText } from '../../shared/latest-scores/latest-scores.js';

/** The keys and arguments of a script, as a client sends them. */
export interface ScriptCall {
  readonly keys: readonly string[];
  readonly args: readonly string[];
}

const argsOfNote = 7;
const idLength = 26;
const itemLength = idLength + 7;
const gapsLength = gapsText(0).length;

/**
 * The arguments that the client of release 0.1.0 gives to note-scores.lua: ids and lengths of calls, and their rows.
 * The present one gives an item for each lead of a call. A row without an item was repeated later, or has no lead.
 */
function argsOfNoteScores({ keys, args }: ScriptCall): readonly string[] {
  const [ttl = '', maxFields = '', ...notes] = args;
  const older = [ttl, maxFields];
  const callIds = keys.slice(1).map((key) => key.slice(-idLength));
  for (let first = 0; first < notes.length; first += argsOfNote) {
    const [epoch = '', model = '', version = '', counts = '', leads = '', items = '', gaps = ''] = notes.slice(first);
    const crmIds: string[] = JSON.parse(leads);
    const [calls, rows]: [(string | number)[], Row[]] = [[], []];
    let at = 0;
    for (const count of JSON.parse(counts) as number[]) {
      const ofCall: Row[] = [];
      for (const end = at + count; at < end; at += 1) {
        const item = items.slice(at * itemLength, (at + 1) * itemLength);
        ofCall[Number(item.slice(idLength, -3))] = {
          ...{ crmId: crmIds[at] ?? null, score: Number(item.slice(-3)) },
          gaps: gaps.slice(at * gapsLength, (at + 1) * gapsLength),
        };
      }
      calls.push(callIds.shift() ?? '', ofCall.length);
      rows.push(...Array.from(ofCall, (row) => row ?? { crmId: null, score: 0, gaps: gaps && gapsText(0) }));
    }
    const lists = [calls, rows.map(({ crmId }) => crmId), rows.map(({ score }) => score)];
    const texts = lists.map((list) => JSON.stringify(list));
    older.push(epoch, model, version, ...texts, rows.map((row) => row.gaps).join(''));
  }
  return older;
}

interface Row {
  readonly crmId: string | null;
  readonly score: number;
  readonly gaps: string;
}

/** The scripts whose arguments have changed, by path: the arguments of the last release for those of this one. */
export const olderArguments: Readonly<Record<string, (call: ScriptCall) => readonly string[]>> = {
  'shared/latest-scores/note-scores.lua': argsOfNoteScores,
};
