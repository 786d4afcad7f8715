import { DOCKER } from '../../needs.ts'
import { all } from '../../parameters.ts'
import { DOCKER_TEXTS } from '../../private-fields.ts'
import { defineHostProbe } from '../../probe.ts'
import { sizes } from '../../units.ts'

export default defineHostProbe({
  id: 'docker-images',
  call: 'dockerImages',
  description: 'Images of the docker engine; sizes in bytes.',
  shape: 'list',
  input: { all },
  units: sizes('bytes', 'size', 'sharedSize', 'virtualSize'),
  removed: DOCKER_TEXTS,
  needs: [DOCKER],
  argumentsFor: input => [input.all],
})
