import { DOCKER } from '../../needs.ts'
import { DOCKER_TEXTS } from '../../private-fields.ts'
import { defineHostProbe } from '../../probe.ts'
import { sizes } from '../../units.ts'

export default defineHostProbe({
  id: 'docker-info',
  call: 'dockerInfo',
  description: 'Version, settings and counts of the docker engine.',
  shape: 'object',
  units: sizes('bytes', 'memTotal'),
  removed: [...DOCKER_TEXTS, 'id', 'httpProxy', 'httpsProxy', 'noProxy'],
  needs: [DOCKER],
  emptyReason: 'docker did not answer',
})
