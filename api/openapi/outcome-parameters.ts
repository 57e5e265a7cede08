const ofQuery = (name: string, description: string) =>
  ({ name, in: 'query', description, schema: { type: 'string' } }) as const;

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
} as const;
