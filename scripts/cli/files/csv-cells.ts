import { tableRows } from '../../../shared/files/rows/table-rows.js';
import { formatAdvice, openInput } from './input-file.js';

/**
 * The rows of a CSV file, cells by the names of their columns. Empty rows are passed over.
 * @throws CliError; InputFault
 */
export async function* csvCells(path: string): AsyncGenerator<ReadonlyMap<string, string>> {
  let columns: readonly string[] = [];
  const rules = {
    readHeader: async (names: readonly string[]) => {
      columns = names;
      return undefined;
    },
    canBeHeader: () => true,
    maxRows: Number.POSITIVE_INFINITY,
    formatAdvice,
    onNotice: () => undefined,
  };
  for await (const { cells, isEmpty } of tableRows((await openInput(path)).pieces(), rules))
    if (!isEmpty) yield new Map(columns.map((name, index) => [name, cells[index] ?? '']));
}
