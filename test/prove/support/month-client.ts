import { type Agent, request } from 'node:http'
import { pause } from '../../support/wait-until.ts'

const BODY = JSON.stringify({
  model: 'model-a:7b',
  messages: [{ role: 'user', content: 'x' }],
})

/** Asks until the month is over; returns the number of whole answers. */
export const useUpMonth = async (
  agent: Agent,
  urlOf: () => string,
  secret: string,
): Promise<number> => {
  for (let answered = 0; ; ) {
    const status = await askModel(agent, urlOf(), secret)
    if (status === 200) answered++
    else if (status === 403) return answered
    else if (status === 0 || status === 502 || status === 503) await pause()
    else throw new Error(`status ${status} is not to be expected`)
  }
}

/** The status of a whole answer; 0 when there was none. */
export const askModel = (agent: Agent, url: string, secret: string): Promise<number> =>
  new Promise(resolve => {
    const asked = request(`${url}/v1/chat/completions`, {
      agent,
      method: 'POST',
      headers: {
        authorization: `Bearer ${secret}`,
        'content-type': 'application/json',
        'content-length': BODY.length,
      },
    })
    asked.on('error', () => resolve(0))
    asked.on('response', answer => {
      answer.on('error', () => resolve(0))
      answer.on('close', () => resolve(answer.complete ? (answer.statusCode ?? 0) : 0))
      answer.resume()
    })
    asked.end(BODY)
  })
