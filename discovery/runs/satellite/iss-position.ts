import type { LookupRun } from '../../lookup-run.ts'
import type { IssPosition } from '../../modules/satellite/iss-position.ts'
import celestrak from '../../upstreams/sources/celestrak.ts'
import openNotify from '../../upstreams/sources/open-notify.ts'
import wheretheiss from '../../upstreams/sources/wheretheiss.ts'
import { trySources } from '../../upstreams/try-sources.ts'
import { askCelestrak } from './iss/celestrak.ts'
import { askOpenNotify, askWhereTheIss } from './iss/providers.ts'

/** Calculates the position from orbital elements; a service that reports it stands in for them. */
const run: LookupRun<object, IssPosition> = (_input, context) =>
  trySources(
    [
      { source: celestrak, run: () => askCelestrak(context) },
      { source: wheretheiss, run: () => askWhereTheIss(context) },
      { source: openNotify, run: () => askOpenNotify(context) },
    ],
    context,
  )

export default run
