import { isEmpty } from '../../empty-answer.ts'
import { defineHostProbe } from '../../probe.ts'

export default defineHostProbe({
  id: 'cpu-temperature',
  call: 'cpuTemperature',
  description: 'Temperature of the processor and its cores, degrees Celsius.',
  shape: 'object',
  explainInvented: ({ main, cores }) =>
    main === null && isEmpty(cores)
      ? 'this machine does not report a processor temperature'
      : undefined,
})
