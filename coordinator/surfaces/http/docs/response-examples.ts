import { readFileSync } from 'node:fs'
import * as z from 'zod'

const ResponseExample = z.object({
  id: z.string(),
  status: z.int(),
  type: z.string(),
  value: z.json(),
})
export type ResponseExample = z.infer<typeof ResponseExample>

const FILE = new URL('response-examples.jsonl', import.meta.url)

/**
 * Examples of responses by the id of their operation, as a coordinator with the example organisation
 * gave them. The file is made by `npm run docs`, and read when the document is made.
 */
export const readResponseExamples = (): ReadonlyMap<string, ResponseExample> => {
  const lines = readFileSync(FILE, 'utf8').trimEnd().split('\n')
  const examples = lines.map(line => ResponseExample.parse(JSON.parse(line)))
  return new Map(examples.map(example => [example.id, example]))
}
