#include "io/result/dicom/module.hpp"

#include <dcmtk/config/osconfig.h>
// after osconfig.h
#include <dcmtk/dcmdata/dcostrmb.h>
#include <dcmtk/dcmdata/dcpath.h>
#include <dcmtk/dcmdata/dctk.h>
#include <dcmtk/oflog/oflog.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <map>
#include <string>
#include <vector>

namespace {

thread_local std::string failure;

/// DCMTK writes its warnings to the terminal unless told not to.
void be_silent() {
  static const bool once = [] {
    OFLog::configure(OFLogger::OFF_LOG_LEVEL);
    return true;
  }();
  (void)once;
}

const char* fail(const std::string& what) {
  failure = what;
  return failure.c_str();
}

const char* failure_of(const OFCondition& status, const std::string& subject) {
  return status.good() ? nullptr : fail(subject + ": " + status.text());
}

/// The element `path` of `data`, made where it is not there; null, with `failure`, where it cannot be.
DcmElement* element_at(DcmDataset& data, const std::string& path) {
  DcmElement* made = nullptr;
  if (path.find('[') == std::string::npos) {
    static thread_local std::map<std::string, DcmTagKey> known;  // DCMTK compares with every name that it has
    auto found = known.find(path);
    if (found == known.end()) {
      DcmTag tag;
      if (failure_of(DcmTag::findTagFromName(path.c_str(), tag), path)) return nullptr;
      found = known.emplace(path, tag).first;
    }
    if (failure_of(data.insertEmptyElement(DcmTag(found->second)), path)) return nullptr;
    failure_of(data.findAndGetElement(found->second, made), path);
    return made;
  }
  DcmPathProcessor paths;
  if (failure_of(paths.findOrCreatePath(&data, path.c_str(), OFTrue), path)) return nullptr;
  OFList<DcmPath*> all;
  if (paths.getResults(all) == 1) made = dynamic_cast<DcmElement*>(all.front()->back()->m_obj);
  if (made == nullptr) fail(path + ": no such attribute");
  return made;
}

const char* put(DcmDataset& data, const FhdDicomElement& element) {
  if (element.vr != nullptr) {
    unsigned group = 0, number = 0;
    if (std::sscanf(element.path, "(%x,%x)", &group, &number) != 2) return fail(element.path);
    const DcmTag tag(static_cast<Uint16>(group), static_cast<Uint16>(number), DcmVR(element.vr));
    return failure_of(data.putAndInsertString(tag, element.value), element.path);
  }
  DcmElement* const made = element_at(data, element.path);
  if (made == nullptr) return failure.c_str();
  if (const char* failed = failure_of(made->putString(element.value), element.path)) return failed;
  return failure_of(made->checkValue(), std::string(element.path) + " = '" + element.value + "'");
}

/// The whole file.
const char* encode(DcmFileFormat& file, std::vector<char>& all) {
  std::vector<char> buffer(std::size_t{1} << 18);
  DcmOutputBufferStream stream(buffer.data(), static_cast<offile_off_t>(buffer.size()));
  file.transferInit();
  OFCondition status = EC_StreamNotifyClient;
  while (status == EC_StreamNotifyClient) {
    status = file.write(stream, EXS_LittleEndianExplicit, EET_ExplicitLength, nullptr);
    void* part = nullptr;
    offile_off_t length = 0;
    stream.flushBuffer(part, length);
    all.insert(all.end(), static_cast<char*>(part), static_cast<char*>(part) + length);
  }
  file.transferEnd();
  return failure_of(status, "DICOM");
}

}  // namespace

extern "C" const char* fhd_dicom_encode(const FhdDicomElement* elements, std::size_t count,
                                        const std::uint16_t* pixels, std::size_t pixel_count,
                                        unsigned char** bytes, std::size_t* byte_count) try {
  be_silent();
  if (!dcmDataDict.isDictionaryLoaded())
    return fail("DCMTK's dictionary dicom.dic is not there; install libdcmtk-dev again, or set DCMDICTPATH");
  DcmFileFormat file;
  for (std::size_t i = 0; i < count; ++i)
    if (const char* failed = put(*file.getDataset(), elements[i])) return failed;
  const auto status = file.getDataset()->putAndInsertUint16Array(DCM_PixelData, pixels, pixel_count);
  if (const char* failed = failure_of(status, "PixelData")) return failed;
  std::vector<char> all;
  if (const char* failed = encode(file, all)) return failed;
  *bytes = static_cast<unsigned char*>(std::malloc(all.size()));
  if (*bytes == nullptr) return fail("too little memory");
  std::memcpy(*bytes, all.data(), all.size());
  *byte_count = all.size();
  return nullptr;
} catch (const std::exception& error) {
  return fail(error.what());
}

extern "C" void fhd_dicom_free(unsigned char* bytes) { std::free(bytes); }

extern "C" const char* fhd_dicom_read_text(const char* path, std::uint16_t group, std::uint16_t element,
                                           char* text, std::size_t room) try {
  be_silent();
  text[0] = '\0';
  DcmFileFormat file;
  const auto status =
      file.loadFileUntilTag(path, EXS_Unknown, EGL_noChange, 1024, ERM_fileOnly, DCM_PixelData);
  if (const char* failed = failure_of(status, path)) return failed;
  OFString found;
  if (file.getDataset()->findAndGetOFStringArray(DcmTagKey(group, element), found).bad()) return nullptr;
  if (found.size() >= room) return nullptr;
  std::memcpy(text, found.c_str(), found.size() + 1);
  return nullptr;
} catch (const std::exception& error) {
  return fail(error.what());
}
