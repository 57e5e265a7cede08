import { foldedText } from '../normal-text.js';
import type { CategoryFeature, Feature, MultiFeature } from './manifest.js';

/**
 * Checks the vocabularies of a manifest's category and multi features: that they fit their columns, that no two
 * entries mean the same after normalisation, and that every alias leads to one category.
 * @param features features of the right shape
 * @returns what is wrong, possibly nothing
 */
export function categoryProblems(features: readonly Feature[]): string[] {
  return features.flatMap((feature, index) => {
    const place = `features[${index}]`;
    if (feature.type === 'multi') return [...lengthProblems(feature, place), ...duplicates(feature, place)];
    if (feature.type !== 'category') return [];
    return [
      ...lengthProblems(feature, place),
      ...duplicates(feature, place),
      ...encodingProblems(feature, place),
      ...aliasProblems(feature, place),
    ];
  });
}

function lengthProblems(feature: CategoryFeature | MultiFeature, place: string): string[] {
  const { categories, columns } = feature;
  if (feature.type === 'category' && feature.encoding === 'ordinal') {
    return columns.length === 1
      ? []
      : [`${place}.columns has ${columns.length} entries; an ordinal fills one`];
  }
  if (columns.length === categories.length) return [];
  return [`${place}.columns has ${columns.length} entries for ${categories.length} categories`];
}

function duplicates({ categories }: CategoryFeature | MultiFeature, place: string): string[] {
  const firstWithKey = new Map<string, string>();
  return categories.flatMap((category, index) => {
    const key = foldedText(category);
    const first = firstWithKey.get(key);
    firstWithKey.set(key, first ?? category);
    if (first === undefined) return [];
    return [`${place}.categories[${index}] "${category}" is the same category as "${first}"`];
  });
}

/** Keys that mean something for the other encoding only: whoever wrote them expects an effect that they lack. */
function encodingProblems(feature: CategoryFeature, place: string): string[] {
  const misplaced = feature.encoding === 'onehot' ? ['other_value', 'impute'] : ['other_column'];
  return misplaced
    .filter((key) => Object.hasOwn(feature, key))
    .map((key) => `${place} has the key "${key}", which the encoding "${feature.encoding}" does not use`);
}

function aliasProblems({ categories, category_aliases }: CategoryFeature, place: string): string[] {
  const meaning = new Map(categories.map((category) => [foldedText(category), category]));
  const byAlias = new Map<string, string>();
  return Object.entries(category_aliases ?? {}).flatMap(([seen, target]) => {
    const what = `${place}.category_aliases "${seen}"`;
    const category = meaning.get(foldedText(target));
    if (category === undefined) return [`${what} leads to "${target}", which is none of the categories`];
    const known = meaning.get(foldedText(seen)) ?? byAlias.get(foldedText(seen)) ?? category;
    byAlias.set(foldedText(seen), known);
    return known === category ? [] : [`${what} leads to "${category}", but it already means "${known}"`];
  });
}
