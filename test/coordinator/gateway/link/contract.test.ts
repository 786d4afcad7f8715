import { openLink } from '../../../../coordinator/gateway/link/link.ts'
import { answersContract } from '../../../contracts/cell-link/answers.ts'
import { endsContract } from '../../../contracts/cell-link/ends.ts'
import { openNodeHttp2Link } from '../../../contracts/cell-link/node-http2-link.ts'
import { streamsContract } from '../../../contracts/cell-link/streams.ts'

/* Both implementations of `CellLink` keep one contract, so either can replace the other. */

for (const [name, open] of [
  ['coordinator/gateway/link', openLink],
  ['node:http2', openNodeHttp2Link],
] as const)
  for (const contract of [answersContract, streamsContract, endsContract]) contract(name, open)
