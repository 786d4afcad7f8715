import type { CveDeviceType } from '../../../fields/cve-hit.ts'
import type { LookupContext } from '../../../lookup-run.ts'
import type { UpstreamError } from '../../../upstreams/client.ts'
import nvd from '../../../upstreams/sources/nvd.ts'
import { combineFailures, toMissingPart } from '../../../upstreams/try-sources.ts'
import { askNewestCves } from './ask-catalogues.ts'
import { escapeCpe } from './cpe-name.ts'
import { DEVICE_PRODUCTS } from './device-products.ts'
import type { NvdRecord } from './read-nvd.ts'

interface DeviceRecords {
  /** Records at the NVD; one of two products counts for both. */
  total: number
  /** Newest records of each product, each once. */
  records: NvdRecord[]
}

/**
 * Records of the products of a kind of device, whose description has the words.
 * Throws UpstreamError when no product could be asked for.
 */
export const askDeviceCves = async (
  type: CveDeviceType,
  words: string | undefined,
  context: LookupContext,
): Promise<DeviceRecords> => {
  const records = new Map<string, NvdRecord>()
  const failures: UpstreamError[] = []
  let total = 0
  for (const product of DEVICE_PRODUCTS[type]) {
    const query = { virtualMatchString: toCpe(product), ...(words && { keywordSearch: words }) }
    try {
      const found = await askNewestCves(query, context)
      total += found.total
      for (const record of found.records) records.set(record.hit.id, record)
    } catch (error) {
      const failure = toMissingPart(nvd, error, context)
      failures.push(failure)
      context.warn('partial_result', `${product} is not in it: ${failure.message}`, nvd.name)
    }
  }
  if (failures.length === DEVICE_PRODUCTS[type].length) throw combineFailures(failures)
  return { total, records: [...records.values()] }
}

/** True for a text with the vendor and the name of a product of the kind. */
export const isOfDevice = (text: string, type: CveDeviceType): boolean => {
  const reduced = reduceText(text)
  return DEVICE_PRODUCTS[type].some(product =>
    product
      .replace(/_firmware$/, '')
      .split(':')
      .every(part => reduced.includes(reduceText(part))),
  )
}

const reduceText = (text: string): string => text.toLowerCase().replaceAll(/[^a-z0-9]/g, '')

const toCpe = (product: string): string =>
  `cpe:2.3:*:${product.split(':').map(escapeCpe).join(':')}`
