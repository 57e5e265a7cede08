// `score` reports its rows in the same words.
export {
  type MistakeGroup,
  mistakeSentences,
  withMistake,
} from '../../../shared/admin/outcomes/mistakes.js';
