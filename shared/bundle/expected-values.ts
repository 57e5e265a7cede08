import type { DateFeature, Feature } from './manifest/manifest.js';

/** Description of a value that can be read, for messages. */
export const expectedOfType: Readonly<Record<Feature['type'], string>> = {
  number: 'a number',
  boolean: 'true or false',
  category: 'one text',
  multi: 'a text or an array of texts',
  date: 'a date',
};

/** The order of day and month in a date with slashes. */
export type DateOrder = NonNullable<DateFeature['date_order']>;

/** The order of a date with slashes, in words. */
export const dateOrderText: Readonly<Record<DateOrder, string>> = { dmy: 'day/month/year', mdy: 'month/day/year' };

/** The orders, for schemas. */
export const dateOrders = Object.keys(dateOrderText) as readonly DateOrder[];

/** As `expectedOfType`, with the forms of a date that the feature reads. */
export function expectedOf(feature: Feature): string {
  if (feature.type !== 'date') return expectedOfType[feature.type];
  const { date_order: order } = feature;
  return order === undefined
    ? 'a date (the model reads year-month-day)'
    : `a date (the model reads year-month-day and ${dateOrderText[order]})`;
}
