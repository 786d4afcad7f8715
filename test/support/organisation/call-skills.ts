import type { ExampleAnswer } from '../../../bin/worked-example.ts'
import { skills } from '../../../coordinator/surfaces/catalogue/skills.ts'
import type { openOrganisation } from './organisation.ts'

type Scene = Awaited<ReturnType<typeof openOrganisation>>

let calls = 0

/** Answers of every skill to each of its examples, in the order of the examples, by skill. */
export const callSkills = async (
  { app }: Pick<Scene, 'app'>,
  key: string,
): Promise<Map<string, ExampleAnswer[]>> => {
  const answers = new Map<string, ExampleAnswer[]>()
  for (const { id, path, effect, examples } of skills) {
    const own: ExampleAnswer[] = []
    for (const payload of examples.length === 0 ? [{}] : examples) {
      const headers = {
        authorization: `Bearer ${key}`,
        ...(effect !== 'read' && { 'idempotency-key': `example-${calls++}` }),
      }
      const response = await app.inject({ method: 'POST', url: path, headers, payload })
      own.push({ status: response.statusCode, body: response.json() })
    }
    answers.set(id, own)
  }
  return answers
}
