/** A question that the corpus generator does not produce. */
export interface EvaluationQuestion {
  /** Earlier questions of the same chat; the model answers them too. */
  before?: string[]
  system?: string
  ask: string
  /** The answer must match. */
  expect: RegExp
}

type Group = 'known' | 'unknown' | 'numbers and copies' | 'calculations'

/** Questions for chat models, and pairs of texts for the embedding model. */
export interface QuestionSet {
  questions: Record<Group, EvaluationQuestion[]>
  /** Two wordings of one thing; each left one should find its right one among all right ones. */
  paraphrases: [string, string][]
  /** Texts that resemble none of the paraphrases. */
  unrelatedTexts: string[]
}

export const unknown = /do not know/i
export const declined = /do not calculate/i
