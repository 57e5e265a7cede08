import type { Prose } from './prose.js';

/** A breach of a rule, as `path:line description: sentence`. */
type LanguageFinding = string;

/** Finds the breaches of one rule in all prose. */
export type LanguageRule = (prose: readonly Prose[]) => LanguageFinding[];

/** Words and phrases that hide the subject of a sentence or age it. Each has a plain replacement. */
const banned = new RegExp(
  `\\b(${[
    'nobody|no one|whoever|whatever is|for whoever',
    'anew|by and by|come what may|in vain|as a rule|of its own accord|as well as it can',
    '(?<!\\b(is|are|was|were) )all the same',
    'of late(?=\\s*([.,;:)]|$))',
    'what there is|there is none|as many as there are|makes nothing',
    'takes? down|gives? back what|goes ahead|stands? still|comes? to its turn',
    '(is|are|was|were|be|been) told',
  ].join('|')})\\b`,
  'i',
);
const invertedOpening = /^(What|That|Whoever|Of|Those)(?![\w-])/;
const invertedTitle = /^(what|that|whoever|of|those)\s/i;
const maxWords = 25;

/** No paragraph has a word of the ban list. */
export const noBannedWords: LanguageRule = (prose) =>
  prose.flatMap((paragraph) => {
    const word = banned.exec(paragraph.text)?.[0];
    return word === undefined ? [] : [found(paragraph, `says "${word}"`, paragraph.text)];
  });

/** No sentence begins with a word that puts a clause instead of the subject. */
export const noInvertedOpenings: LanguageRule = (prose) =>
  prose.flatMap((paragraph) =>
    sentencesOf(paragraph).flatMap((sentence) => {
      const word = invertedOpening.exec(sentence)?.[1];
      return word === undefined ? [] : [found(paragraph, `begins a sentence with "${word}"`, sentence)];
    }),
  );

/** No test title begins with such a word: read without the title above it, it would have no subject. */
export const titlesStandAlone: LanguageRule = (prose) =>
  prose
    .filter(({ kind, text }) => kind === 'title' && invertedTitle.test(text))
    .map((title) => found(title, 'has a title without a subject', title.text));

/**
 * No sentence has more than 25 words. Code between backticks counts as one word. A text in code counts only if it has
 * the form of a sentence: other texts are lists, programs or pages.
 */
export const sentencesAreShort: LanguageRule = (prose) =>
  prose.flatMap((paragraph) =>
    sentencesOf(paragraph).flatMap((sentence) => {
      if (paragraph.kind === 'text' && !/^[A-Z][^<>{}=]*[.!?]$/.test(sentence)) return [];
      const words = sentence.split(/\s+/).filter((word) => /\w/.test(word)).length;
      return words > maxWords ? [found(paragraph, `has ${words} words in a sentence`, sentence)] : [];
    }),
  );

const found = ({ path, line }: Prose, breach: string, text: string): LanguageFinding =>
  `${path}:${line} ${breach}: ${text.slice(0, 120)}`;

const sentenceEnd = /(?<=[.!?]["')\]*]*)\s+(?=["'([*]*[A-Z0-9])/;

/** The sentences of a paragraph, without quotes or emphasis at their beginning. */
function sentencesOf({ text }: Prose): string[] {
  return text
    .replace(/\b(e\.g|i\.e|vs|cf)\./g, '$1')
    .split(sentenceEnd)
    .map((sentence) => sentence.trim().replace(/^["'([*_]+/, ''));
}
