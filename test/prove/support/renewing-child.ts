import { setTimeout as sleep } from 'node:timers/promises'
import { readIdentity } from '../../../daemon/identity.ts'
import { ownIdentity } from '../../../daemon/own-identity.ts'
import { finishRenewal, renewCredential } from '../../../daemon/renewal.ts'
import { questionsOf } from '../../../daemon/services/credential.ts'
import { silent } from '../../support/cell.ts'

/* Renews for ever and writes `renewed`, or the code of the failure, a line each. */

const [stateDir = '', url = ''] = process.argv.slice(2)
const stored = await readIdentity(stateDir)
if (stored === undefined) throw new Error(`${stateDir} holds no identity`)
const identity = ownIdentity(stateDir, stored)
const { signal } = new AbortController()
const questions = questionsOf({ identity, url, connectTimeoutSeconds: 5, logger: silent }, signal)

for (;;) {
  try {
    await finishRenewal(identity, questions)
    await renewCredential(identity, questions)
    console.log('renewed')
  } catch (error) {
    console.log((error as { code?: string }).code ?? String(error))
    await sleep(150)
  }
}
