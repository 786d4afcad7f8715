import { readdirSync } from 'node:fs'
import { join, resolve } from 'node:path'
import t from 'tap'
import { startDocumented, testExamples } from '../support/documented-service.ts'

const root = resolve(import.meta.dirname, '..', '..')
const documents = readdirSync(join(root, 'docs')).map(name => `docs/${name}`)

t.test('every shell example of the documents from k to z works on a running service', async t => {
  const env = await startDocumented(t)
  testExamples(
    t,
    documents.filter(path => path >= 'docs/k'),
    env,
  )
})
