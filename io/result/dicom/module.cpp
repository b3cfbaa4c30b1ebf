#include "io/result/dicom/module.hpp"

#include <dcmtk/config/osconfig.h>
// after osconfig.h
#include <dcmtk/dcmdata/dcostrmb.h>
#include <dcmtk/dcmdata/dcpath.h>
#include <dcmtk/dcmdata/dctk.h>
#include <dcmtk/oflog/oflog.h>

#include <cstdio>
#include <exception>
#include <map>
#include <stdexcept>

namespace {

using namespace fhd::io::dicom;

/// DCMTK writes its warnings to the terminal unless told not to.
void be_silent() {
  static const bool once = (OFLog::configure(OFLogger::OFF_LOG_LEVEL), true);
  static_cast<void>(once);
}

void require(const OFCondition& status, const std::string& subject) {
  if (status.bad()) throw std::runtime_error(subject + ": " + status.text());
}

/// Returns the element `path` of `data`, made where it is not there.
DcmElement& element_at(DcmDataset& data, const std::string& path) {
  DcmElement* made = nullptr;
  if (path.find('[') == std::string::npos) {
    static thread_local std::map<std::string, DcmTagKey> known;  // DCMTK compares with every name that it has
    auto found = known.find(path);
    if (found == known.end()) {
      DcmTag tag;
      require(DcmTag::findTagFromName(path.c_str(), tag), path);
      found = known.emplace(path, tag).first;
    }
    require(data.insertEmptyElement(DcmTag(found->second)), path);
    require(data.findAndGetElement(found->second, made), path);
  } else {
    DcmPathProcessor paths;
    require(paths.findOrCreatePath(&data, path.c_str(), OFTrue), path);
    OFList<DcmPath*> all;
    if (paths.getResults(all) == 1) made = dynamic_cast<DcmElement*>(all.front()->back()->m_obj);
  }
  if (made == nullptr) throw std::runtime_error(path + ": no such attribute");
  return *made;
}

void put(DcmDataset& data, const Element& element) {
  const auto& [path, value, vr] = element;
  if (vr.empty()) {
    auto& made = element_at(data, path);
    require(made.putString(value.c_str()), path);
    return require(made.checkValue(), path + " = '" + value + "'");
  }
  unsigned group = 0, number = 0;
  if (std::sscanf(path.c_str(), "(%x,%x)", &group, &number) != 2) throw std::runtime_error(path);
  const DcmTag tag(static_cast<Uint16>(group), static_cast<Uint16>(number), DcmVR(vr.c_str()));
  require(data.putAndInsertString(tag, value.c_str()), path);
}

/// Returns the whole file.
std::vector<char> encoded(DcmFileFormat& file) {
  std::vector<char> all, buffer(std::size_t{1} << 18);
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
  require(status, "DICOM");
  return all;
}

}  // namespace

extern "C" void fhd_dicom_encode(const Elements& common, const Elements& own,
                                 const std::vector<std::uint16_t>& pixels, std::vector<char>& bytes,
                                 std::string& failure) try {
  be_silent();
  if (!dcmDataDict.isDictionaryLoaded())
    throw std::runtime_error(
        "DCMTK's dictionary dicom.dic is not there; install libdcmtk-dev again, or set DCMDICTPATH");
  DcmFileFormat file;
  for (const auto* some : {&common, &own})
    for (const auto& element : *some) put(*file.getDataset(), element);
  require(file.getDataset()->putAndInsertUint16Array(DCM_PixelData, pixels.data(), pixels.size()),
          "PixelData");
  bytes = encoded(file);
} catch (const std::exception& error) {
  failure = error.what();
}

extern "C" void fhd_dicom_read_checksum(const std::string& path, std::string& checksum) try {
  be_silent();
  DcmFileFormat file;
  require(file.loadFileUntilTag(path.c_str(), EXS_Unknown, EGL_noChange, 1024, ERM_fileOnly, DCM_PixelData),
          path);
  OFString found;
  if (file.getDataset()->findAndGetOFStringArray(DcmTagKey(private_group, checksum_element), found).good())
    checksum.assign(found.c_str(), found.find_last_not_of(' ') + 1);
} catch (const std::exception&) {  // no DICOM file
}
