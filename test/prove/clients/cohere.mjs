import { equal } from 'node:assert/strict'
import { CohereClient, CohereClientV2 } from 'cohere-ai'

/** Two rankings, in either version of the API. */
const { SHOAL_URL, SHOAL_KEY } = process.env
const options = { environment: SHOAL_URL, token: SHOAL_KEY }
const documents = ['the cat sat', 'a coordinator routes requests', 'rain in march']
const query = 'what is a coordinator'
const v2 = new CohereClientV2(options)
const first = await v2.rerank({ model: 'ranks', query, documents, topN: 2, maxTokensPerDoc: 128 })
const v1 = new CohereClient(options)
const second = await v1.rerank({
  model: 'ranks',
  query,
  documents: documents.map(text => ({ text })),
  returnDocuments: true,
  maxChunksPerDoc: 1,
})
equal(first.results.length, 2)
equal(second.results.length, documents.length)
console.log(
  JSON.stringify({
    client: 'cohere-ai',
    turn: first.results.map(({ index }) => index),
    second_turn: second.results.map(({ document }) => document?.text),
  }),
)
