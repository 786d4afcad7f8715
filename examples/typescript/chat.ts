import { ShoalClient } from 'shoal-client'

const { SHOAL_URL: baseUrl = 'http://127.0.0.1:7070', SHOAL_KEY: apiKey = '' } = process.env
const client = new ShoalClient({ baseUrl, apiKey })

const messages = [{ role: 'user' as const, content: 'What is a cell?' }]
for await (const chunk of client.streamChat({ model: 'model-a:7b', messages, temperature: 0 }))
  for (const { delta } of chunk.choices) process.stdout.write(delta.content ?? '')
process.stdout.write('\n')
