import { findPlace } from '../../fields/coordinates.ts'
import { round } from '../../fields/round.ts'
import type { LookupRun } from '../../lookup-run.ts'
import {
  type AirInput,
  type AirQuality,
  POLLUTANTS,
  type Station,
} from '../../modules/environment/air-quality.ts'
import type { UpstreamError } from '../../upstreams/client.ts'
import { isOpenMeteoAllowed } from '../../upstreams/open-meteo-terms.ts'
import type { Source } from '../../upstreams/source.ts'
import openMeteoAq from '../../upstreams/sources/open-meteo-aq.ts'
import openaq from '../../upstreams/sources/openaq.ts'
import sensorCommunity from '../../upstreams/sources/sensor-community.ts'
import { asUpstreamError, combineFailures } from '../../upstreams/try-sources.ts'
import { askOpenMeteoAir } from './air/open-meteo.ts'
import { askOpenaq } from './air/openaq.ts'
import { askSensorCommunity } from './air/sensor-community.ts'

type Part = Partial<Pick<AirQuality, 'index' | 'pollutants' | 'stations'>>

const MAX_STATIONS = 200

/** Measured values of all networks that may be asked, beside those of a model. */
const run: LookupRun<AirInput, AirQuality> = async (input, context) => {
  const { settings, signal, warn } = context
  const place = findPlace(input, settings.site)
  const radius = input.radius_km
  const asked: [Source, Promise<Part>][] = [
    [sensorCommunity, withStations(askSensorCommunity(place, radius, context))],
  ]
  if (settings.hasKey('openaq'))
    asked.push([openaq, withStations(askOpenaq(place, radius, context))])
  if (isOpenMeteoAllowed(settings, 'open-meteo-aq'))
    asked.push([openMeteoAq, askOpenMeteoAir(place, context)])

  const failures: UpstreamError[] = []
  const parts = await Promise.all(
    asked.map(([{ id }, work]) =>
      work.catch((error): Part => {
        signal.throwIfAborted()
        failures.push(asUpstreamError(id, error))
        return {}
      }),
    ),
  )
  if (failures.length === asked.length) throw combineFailures(failures)
  for (const { message } of failures) warn('partial_result', message)
  return combine(parts, { ...place, radius_km: radius })
}

const withStations = async (work: Promise<Station[]>): Promise<Part> => ({ stations: await work })

const combine = (
  parts: readonly Part[],
  facts: Pick<AirQuality, 'lat' | 'lon' | 'radius_km'>,
): AirQuality => {
  const stations = parts
    .flatMap(part => part.stations ?? [])
    .filter(({ distance_km }) => distance_km <= facts.radius_km)
    .toSorted((a, b) => a.distance_km - b.distance_km)
  return {
    ...facts,
    index: parts.find(({ index }) => index)?.index ?? null,
    pollutants: [
      ...summarizeStations(stations),
      ...parts.flatMap(({ pollutants }) => pollutants ?? []),
    ],
    stations: stations.slice(0, MAX_STATIONS),
  }
}

/** The median of each pollutant: one broken or ill-placed sensor does not move it. */
const summarizeStations = (stations: readonly Station[]): AirQuality['pollutants'] =>
  POLLUTANTS.flatMap(pollutant => {
    const found = stations.flatMap(({ readings, at }) => {
      const value = readings[`${pollutant}_ug_m3`]
      return value === undefined ? [] : [{ value, at }]
    })
    const at = found
      .map(each => each.at)
      .toSorted()
      .at(-1)
    if (at === undefined) return []
    const value_ug_m3 = round(median(found.map(({ value }) => value)), 2)
    return [{ pollutant, value_ug_m3, method: 'measured_median', stations: found.length, at }]
  })

const median = (values: readonly number[]): number => {
  const sorted = values.toSorted((a, b) => a - b)
  const middle = sorted.length / 2
  const [low = 0, high = 0] = [sorted[Math.ceil(middle) - 1], sorted[Math.floor(middle)]]
  return (low + high) / 2
}

export default run
