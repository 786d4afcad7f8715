import { olderDeclaration } from '../../clients/cli/known-answer.ts'

/** Facts of an operation whose answer informs. */
export const informingOperation = {
  success: [],
  units: {},
  isText: false,
  answers: undefined,
  isGated: false,
  isEmergency: false,
  mode: undefined,
}

/** Facts of an operation at this path, as a coordinator without declarations of answers has them. */
export const olderOperation = (method: string, path: string) => ({
  ...informingOperation,
  ...olderDeclaration(method, path),
})
