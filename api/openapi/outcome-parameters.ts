const inQuery = <Type extends 'string' | 'boolean'>(name: string, description: string, type: Type) =>
  ({ name, in: 'query', description, schema: { type } }) as const;
const ofQuery = (name: string, description: string) => inQuery(name, description, 'string');
const switchOfQuery = (name: string, description: string) => inQuery(name, description, 'boolean');

/** The parameters of the endpoints that take outcomes, by their names in `components`. */
export const outcomeParameters = {
  outcomeField: ofQuery(
    'outcome_field',
    'The field of the record that holds the outcome, for tools that cannot send `outcome`: `status` in Pipedrive.',
  ),
  atField: ofQuery(
    'at_field',
    'The field of the record that holds the date, for tools that cannot send `at`: `won_time` in Pipedrive.',
  ),
  fileCrmId: ofQuery('crm_id', 'Only for a file: the column with the ids. Absent: `crm_id`.'),
  fileConverted: ofQuery('converted', 'Only for a file: the column with the outcomes. Absent: `converted`.'),
  fileAt: ofQuery('at', 'Only for a file: the column with the dates of conversions. Absent: `at`, if it exists.'),
  fileWonValues: ofQuery(
    'won_values',
    'Only for a file: values that mean converted, instead of the usual words, as one line of CSV: `Closed Won,Won`.',
  ),
  fileLostValues: ofQuery('lost_values', 'Only for a file: values that mean not converted, as one line of CSV.'),
  fileOthersLost: switchOfQuery(
    'others_lost',
    'Only for a file: `true` if every other value, except an empty one, means not converted. Needs `won_values`.',
  ),
  fileIgnoredValues: ofQuery(
    'ignored_values',
    'Only for a file: values whose rows are passed over, as one line of CSV. They are not among the problems.',
  ),
  fileCorrectDates: switchOfQuery(
    'correct_dates',
    'Only for a file: `true` if its dates replace those of known conversions, also by later ones.',
  ),
} as const;

/** The options of a file of outcomes. */
export const fileParameters = [
  outcomeParameters.fileCrmId,
  outcomeParameters.fileConverted,
  outcomeParameters.fileAt,
  outcomeParameters.fileWonValues,
  outcomeParameters.fileLostValues,
  outcomeParameters.fileOthersLost,
  outcomeParameters.fileIgnoredValues,
  outcomeParameters.fileCorrectDates,
];
